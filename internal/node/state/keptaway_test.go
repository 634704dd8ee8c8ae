// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestWhatANodeKeepsAway(t *testing.T) {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}}}
	writer, clients := writerOf(node)
	for _, which := range []string{"1000", "1000;5 app In (a)", ""} {
		after, err := writer.KeepAway(t.Context(), which)
		if err != nil {
			t.Fatal(err)
		}
		labels, annotations := map[string]string{"a": "b"}, map[string]string{"c": "d"}
		if which != "" {
			labels[slipwayv1alpha1.KeptAway], annotations[slipwayv1alpha1.KeptAway] = "daemonsets", which
		}
		for _, n := range []*corev1.Node{after, read(t, clients)} {
			if diff := cmp.Diff([]map[string]string{labels, annotations}, []map[string]string{n.Labels, n.Annotations}); diff != "" {
				t.Errorf("%q was written (-want +got):\n%s", which, diff)
			}
		}
		if Marked(after) != (which != "") {
			t.Errorf("it is marked: %t", Marked(after))
		}
	}
}

func TestWhatANodeKeepsAwayIsForgotten(t *testing.T) {
	writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if _, err := writer.KeepAway(t.Context(), "5"); err != nil {
		t.Fatal(err)
	}
	if err := writer.Forget(t.Context()); err != nil || Marked(read(t, clients)) {
		t.Errorf("got %v, error %v", read(t, clients).ObjectMeta, err)
	}
}

func TestANodeThatIsGoneKeepsNothingAway(t *testing.T) {
	writer, _ := writerOf(nil)
	if node, err := writer.KeepAway(t.Context(), "5"); node != nil || err != nil {
		t.Errorf("got %v, error %v", node, err)
	}
	writer, _ = writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, apierrors.NewInternalError(errors.New("on fire")))
	if _, err := writer.KeepAway(t.Context(), "5"); err == nil {
		t.Error("an error is none")
	}
}
