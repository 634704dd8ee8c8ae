// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// TestSlimKeepsThatAPodWasReleased, which has no ReplicaSet any more: its next Eviction must name the surge
// responder all the same.
func TestSlimKeepsThatAPodWasReleased(t *testing.T) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{surge.AnnotationHash: "6d5b", "other": "x"}}}
	kept, err := slim(pod)
	if err != nil {
		t.Fatal(err)
	}
	if !surge.IsCandidate(kept.(*corev1.Pod)) {
		t.Error("the pod is no candidate of the surge responder any more")
	}
}
