// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAPodWithoutLabelsCanHaveOurMarks: whoever may edit a pod can annotate it.
func TestAPodWithoutLabelsCanHaveOurMarks(t *testing.T) {
	w := newWorld(1)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{AnnotationHash: hash}}}
	if Selects(w.set, pod) {
		t.Error("the ReplicaSet selects by the app's label, which the pod does not have")
	}
}
