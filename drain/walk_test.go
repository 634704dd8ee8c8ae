// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

// walk is a Drain that runs while the test goes on.
type walk struct {
	s      *scene
	cancel context.CancelCauseFunc
	result chan error

	mu      sync.Mutex
	last    drain.Status
	changed chan struct{}
}

func (s *scene) drain(d *drain.Drainer, node string, change ...func(*drain.Request)) *walk {
	s.t.Helper()
	request := drain.Request{NodeName: node}
	for _, c := range change {
		c(&request)
	}
	s.drains(node, parameters(request))
	ctx, cancel := context.WithCancelCause(s.ctx)
	w := &walk{s: s, cancel: cancel, result: make(chan error, 1), changed: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.result <- d.Drain(ctx, request, w.report)
	}()
	s.t.Cleanup(func() { cancel(context.Canceled); <-done })
	return w
}

func (w *walk) report(status drain.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.last = status
	close(w.changed)
	w.changed = make(chan struct{})
}

func (w *walk) status() (drain.Status, <-chan struct{}) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.last, w.changed
}

// await waits for a Status.
func (w *walk) await(what string, is func(drain.Status) bool) {
	w.s.t.Helper()
	for {
		status, changed := w.status()
		if is(status) {
			return
		}
		select {
		case <-changed:
		case err := <-w.result:
			w.result <- err
			w.s.t.Fatalf("the drain has returned (%v) before its status was: %s; it is %+v", err, what, status)
		case <-w.s.ctx.Done():
			w.s.t.Fatalf("waiting for the status: %s; it is %+v", what, status)
		}
	}
}

// awaitBlocker waits until a pod, or the drain if the name is empty, is held up for this reason.
func (w *walk) awaitBlocker(pod string, reason drain.Reason, by string) {
	w.s.t.Helper()
	want := types.NamespacedName{Name: pod}
	if pod != "" {
		want.Namespace = w.s.namespace
	}
	w.await(fmt.Sprintf("%q is held up by %s %q", pod, reason, by), func(status drain.Status) bool {
		return slices.ContainsFunc(status.Blockers, func(b drain.Blocker) bool {
			return b.Pod == want && b.Reason == reason && b.By == by && b.Message != ""
		})
	})
}

func (w *walk) end() error {
	w.s.t.Helper()
	select {
	case err := <-w.result:
		w.result <- err
		return err
	case <-w.s.ctx.Done():
		status, _ := w.status()
		w.s.t.Fatalf("the drain does not end; its status is %+v", status)
		return nil
	}
}

// wantDrained waits for the end and checks what it promises.
func (w *walk) wantDrained(node string, pods int) {
	w.s.t.Helper()
	w.s.must(w.end())
	status, _ := w.status()
	if status.Total != pods || status.Done != pods || len(status.Blockers) != 0 {
		w.s.t.Errorf("the last status is %+v, want %d pods", status, pods)
	}
	left, err := w.s.admin.CoreV1().Pods("").List(w.s.ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + node})
	w.s.must(err)
	for _, pod := range left.Items {
		owner := metav1.GetControllerOf(&pod)
		if pod.Annotations[corev1.MirrorPodAnnotationKey] == "" && (owner == nil || owner.Kind != "DaemonSet") {
			w.s.t.Errorf("pod %s is left on %s", pod.Name, node)
		}
	}
}
