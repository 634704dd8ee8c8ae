// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// BenchmarkADecisionAbout2000Pods is what it costs to decide once about that many pods of EvictPod.
func BenchmarkADecisionAbout2000Pods(b *testing.B) {
	pods := make([]*corev1.Pod, 2000)
	for i := range pods {
		pods[i] = newPod(fmt.Sprintf("web-%04d", i))
	}
	f := facts{
		now: noon, pods: pods, budgets: map[string][]*budget{"default": {newPDB("web", exhausted)}},
		slots: map[types.UID]time.Time{}, tries: map[types.UID]try{},
	}
	b.ReportAllocs()
	for b.Loop() {
		decidePods(f)
	}
}
