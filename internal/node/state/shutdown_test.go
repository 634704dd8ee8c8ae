// SPDX-License-Identifier: Apache-2.0

package state

import (
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
)

func TestAShutdownIsAnnouncedAndForgotten(t *testing.T) {
	writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", UID: "u", Annotations: map[string]string{"example.com/a": "b"}}})
	says := func(what, announced, drained string) {
		t.Helper()
		node := read(t, clients)
		if a, d := node.Annotations[shutdown.Annotation], node.Annotations[shutdown.DrainAnnotation]; a != announced || d != drained {
			t.Errorf("%s: it says %q and %q", what, a, d)
		}
		if _, labelled := node.Labels[shutdown.Label]; labelled != (announced != "") {
			t.Errorf("%s: it has the label: %v", what, labelled)
		}
		if len(node.Status.Conditions) != 1 || node.Annotations["example.com/a"] != "b" {
			t.Errorf("%s: %v", what, node)
		}
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	condition := corev1.NodeCondition{Type: corev1.NodeGracefulNodeShutdownInProgress, Status: corev1.ConditionTrue}
	must(writer.AnnounceShutdown(t.Context(), "1", condition))
	says("announced", "1", "")
	seen := read(t, clients)
	must(writer.RecordShutdownDrain(t.Context(), seen, "drained"))
	says("noted", "1", "drained")
	seen = read(t, clients)
	must(writer.AnnounceShutdown(t.Context(), "2", condition))
	if err := writer.ForgetShutdown(t.Context(), seen, []string{shutdown.DrainAnnotation, shutdown.Annotation}); err == nil {
		t.Error("another shutdown was forgotten")
	}
	says("announced again", "2", "drained")
	must(writer.ForgetShutdown(t.Context(), seen, []string{shutdown.DrainAnnotation}))
	says("one is forgotten", "2", "")
	must(writer.AnnounceShutdown(t.Context(), "", condition))
	says("withdrawn", "", "")
	must(writer.AnnounceShutdown(t.Context(), "3", condition))
	must(writer.ForgetShutdown(t.Context(), read(t, clients), []string{shutdown.Annotation}))
	says("over", "", "")
}

func TestHowLongAMachineWaitsIsSaidAndForgotten(t *testing.T) {
	writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: map[string]string{"example.com/a": "b"}}})
	if err := writer.ReportShutdownDelay(t.Context(), 5*time.Second); err != nil {
		t.Fatal(err)
	}
	node := read(t, clients)
	if delay, known := shutdown.DelayOn(node); !known || delay != 5*time.Second || !Marked(node) {
		t.Errorf("it says %v, %v: %v", delay, known, node.Annotations)
	}
	if err := writer.Forget(t.Context()); err != nil {
		t.Fatal(err)
	}
	node = read(t, clients)
	if _, known := shutdown.DelayOn(node); known || node.Annotations["example.com/a"] != "b" {
		t.Errorf("afterwards, it says %v", node.Annotations)
	}
	failing, _ := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, apierrors.NewInternalError(errors.New("on fire")))
	if err := failing.ReportShutdownDelay(t.Context(), time.Second); err == nil {
		t.Error("what could not be said is no error")
	}
}

func TestWhatIsForgottenWhereStaticPodsAreAway(t *testing.T) {
	all := map[string]string{
		"example.com/a": "b", shutdown.DelayAnnotation: "5s", staticpod.HostAnnotation: `{"away":["a/b"]}`, CordonsAnnotation: "{}",
	}
	for name, tc := range map[string]struct {
		forget func(*Writer) error
		want   map[string]string
	}{
		"all but them": {
			func(w *Writer) error { return w.ForgetAllButStaticPods(t.Context()) },
			map[string]string{"example.com/a": "b", staticpod.HostAnnotation: `{"away":["a/b"]}`},
		},
		"what slipway-host says": {
			func(w *Writer) error { return w.ForgetHost(t.Context()) },
			map[string]string{"example.com/a": "b", CordonsAnnotation: "{}"},
		},
		"all": {func(w *Writer) error { return w.Forget(t.Context()) }, map[string]string{"example.com/a": "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			writer, clients := writerOf(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Annotations: maps.Clone(all)}})
			if !MarkedByHost(read(t, clients)) {
				t.Error("slipway-host says nothing before")
			}
			if err := tc.forget(writer); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, read(t, clients).Annotations); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsSaidOfAShutdownIsReplacedAsItWasSeen(t *testing.T) {
	nodes := corev1.Resource("nodes")
	for name, tc := range map[string]struct {
		answer error
		stale  bool
	}{
		"it has changed":        {conflict, true},
		"it says another thing": {apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Node").GroupKind(), "n", nil), true},
		"it is gone":            {apierrors.NewNotFound(nodes, "n"), true},
		"another error":         {apierrors.NewInternalError(errors.New("on fire")), false},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}
			writer, _ := writerOf(node, tc.answer, tc.answer)
			for _, err := range []error{
				writer.RecordShutdownDrain(t.Context(), node, "x"), writer.ForgetShutdown(t.Context(), node, []string{shutdown.Annotation}),
			} {
				if err == nil || errors.Is(err, ErrStale) != tc.stale {
					t.Errorf("got error %v", err)
				}
			}
		})
	}
}
