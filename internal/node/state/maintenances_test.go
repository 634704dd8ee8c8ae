// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatANodeSaysOfMaintenances(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"example.com/a": "b"}}}
	writer, clients := writerOf(node)
	for _, text := range []string{"[1]", "[2]", ""} {
		after, err := writer.RecordMaintenances(t.Context(), read(t, clients), text)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []*corev1.Node{after, read(t, clients)} {
			said, has := n.Annotations[MaintenancesAnnotation]
			if said != text || has != (text != "") || n.Annotations["example.com/a"] != "b" {
				t.Errorf("%q was written: got %v", text, n.Annotations)
			}
		}
	}
	if Marked(read(t, clients)) {
		t.Error("it is still marked")
	}
}

func TestWhatANodeSaysOfMaintenancesIsReplacedAsItWasSeen(t *testing.T) {
	for name, tc := range map[string]struct {
		answer error
		stale  bool
	}{
		"it has changed": {conflict, true},
		"it is gone":     {apierrors.NewNotFound(corev1.Resource("nodes"), "n"), true},
		"another error":  {apierrors.NewInternalError(errors.New("on fire")), false},
	} {
		t.Run(name, func(t *testing.T) {
			writer, _ := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, tc.answer)
			_, err := writer.RecordMaintenances(t.Context(), &corev1.Node{}, "[]")
			if err == nil || errors.Is(err, ErrStale) != tc.stale {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestMarkingANodeReturnsIt(t *testing.T) {
	conditions := []corev1.NodeCondition{{Type: "MaintenancePlanned", Status: corev1.ConditionTrue}}
	writer, _ := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if node, err := writer.Mark(t.Context(), conditions); err != nil || len(node.Status.Conditions) != 1 {
		t.Errorf("got %v, error %v", node, err)
	}
	writer, _ = writerOf(nil)
	if node, err := writer.Mark(t.Context(), conditions); err != nil || node != nil {
		t.Errorf("a Node that is gone: got %v, error %v", node, err)
	}
}

func TestAConditionLosesItsMessage(t *testing.T) {
	writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	planned := corev1.NodeCondition{Type: "MaintenancePlanned", Status: corev1.ConditionTrue, Reason: "Planned", Message: "kernel"}
	none := corev1.NodeCondition{Type: "MaintenancePlanned", Status: corev1.ConditionFalse}
	for _, c := range []corev1.NodeCondition{planned, none} {
		if _, err := writer.Mark(t.Context(), []corev1.NodeCondition{c}); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]corev1.NodeCondition{c}, read(t, clients).Status.Conditions); diff != "" {
			t.Errorf("what it says (-want +got):\n%s", diff)
		}
	}
}
