// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

func wish(event string, pods ...string) staticpod.Wish {
	return staticpod.Wish{Event: event, UID: ownerOf(event).UID, Pods: pods}
}

// What is wished for an event goes with its cordon, however that goes.
func TestStaticPodsAreWishedAwayAsLongAsTheCordonIsThere(t *testing.T) {
	cordoned := func(t *testing.T, w *Writer, event string) {
		if err := w.Cordon(t.Context(), event, ownerOf(event).UID); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		do   func(t *testing.T, w *Writer) error
		want []string
	}{
		"nothing happens": {func(*testing.T, *Writer) error { return nil }, []string{"kube-system/a-n", "kube-system/b-n"}},
		"it is asked for again, when they are gone": {func(t *testing.T, w *Writer) error {
			return w.WishStaticPodsAway(t.Context(), wish("a", "kube-system/c-n"))
		}, []string{"kube-system/a-n", "kube-system/b-n", "kube-system/c-n"}},
		"the event is canceled": {func(t *testing.T, w *Writer) error { return w.Release(t.Context(), "a-uid") }, nil},
		"another event is canceled": {func(t *testing.T, w *Writer) error {
			cordoned(t, w, "b")
			return w.Release(t.Context(), "b-uid")
		}, []string{"kube-system/a-n", "kube-system/b-n"}},
		"one of two events is canceled": {func(t *testing.T, w *Writer) error {
			cordoned(t, w, "b")
			if err := w.WishStaticPodsAway(t.Context(), wish("b", "kube-system/c-n")); err != nil {
				return err
			}
			return w.Release(t.Context(), "a-uid")
		}, []string{"kube-system/c-n"}},
		"the node is returned": {func(t *testing.T, w *Writer) error {
			_, err := w.Return(t.Context())
			return err
		}, nil},
		"the product is taken away": {func(t *testing.T, w *Writer) error { return w.Forget(t.Context()) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
			cordoned(t, writer, "a")
			if err := writer.WishStaticPodsAway(t.Context(), wish("a", "kube-system/b-n", "kube-system/a-n")); err != nil {
				t.Fatal(err)
			}
			if err := tc.do(t, writer); err != nil {
				t.Fatal(err)
			}
			node := read(t, clients)
			wishes, err := staticpod.WishesOn(node)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, staticpod.Wanted(wishes)); diff != "" {
				t.Error(diff)
			}
			if _, says := node.Annotations[staticpod.Annotation]; says != (tc.want != nil) {
				t.Errorf("it says %v", node.Annotations)
			}
		})
	}
}

// A drain that has been canceled meanwhile wishes nothing: nobody would take it back.
func TestNoWishWithoutACordon(t *testing.T) {
	writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}})
	if err := writer.WishStaticPodsAway(t.Context(), wish("a", "kube-system/a-n")); err == nil {
		t.Error("it is wished for an event that has no cordon")
	}
	if text := read(t, clients).Annotations[staticpod.Annotation]; text != "" {
		t.Errorf("the Node says %s", text)
	}
}

// A wish that nobody can read goes with the next cordon, and with the return.
func TestAWishThatIsNotOurs(t *testing.T) {
	for name, do := range map[string]func(*testing.T, *Writer) error{
		"cordon": func(t *testing.T, w *Writer) error { return w.Cordon(t.Context(), "a", types.UID("a-uid")) },
		"return": func(t *testing.T, w *Writer) error {
			_, err := w.Return(t.Context())
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{staticpod.Annotation: "all"}}})
			if err := do(t, writer); err != nil {
				t.Fatal(err)
			}
			if text, says := read(t, clients).Annotations[staticpod.Annotation]; says {
				t.Errorf("the Node says %q", text)
			}
		})
	}
}

func TestStaticPodsAreReported(t *testing.T) {
	writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"example.com/a": "b"}}})
	text, err := staticpod.Report{Away: []string{"kube-system/a-n"}}.Text()
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ text, want string }{{text, text}, {"", ""}} {
		if err := writer.ReportStaticPods(t.Context(), tc.text); err != nil {
			t.Fatal(err)
		}
		node := read(t, clients)
		if got := node.Annotations[staticpod.HostAnnotation]; got != tc.want || node.Annotations["example.com/a"] != "b" {
			t.Errorf("the Node says %v, want %q", node.Annotations, tc.want)
		}
	}
}
