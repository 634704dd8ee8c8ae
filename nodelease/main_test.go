// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"testing"
	"time"

	"go.uber.org/goleak"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is when things begin.
var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// after is some time after noon.
func after(d time.Duration) time.Time { return noon.Add(d) }

func worker1() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "worker-1", UID: "uid-1"}}
}

// leaseOf is the Lease that a holder took at noon for a minute.
func leaseOf(holder string) *coordinationv1.Lease {
	lease := Take(nil, worker1(), holder, "firmware", time.Minute, noon)
	lease.ResourceVersion = "7"
	return lease
}
