// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

// trip is an EvictPod that runs while the test goes on.
type trip struct {
	s      *scene
	pod    *corev1.Pod
	cancel context.CancelCauseFunc
	result chan error

	mu      sync.Mutex
	last    drain.PodProgress
	changed chan struct{}
}

func (s *scene) evict(d *drain.Drainer, pod *corev1.Pod) *trip {
	s.t.Helper()
	ctx, cancel := context.WithCancelCause(s.ctx)
	e := &trip{s: s, pod: pod, cancel: cancel, result: make(chan error, 1), changed: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		e.result <- d.EvictPod(ctx, types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID, e.tell)
	}()
	s.t.Cleanup(func() { cancel(context.Canceled); <-done })
	return e
}

func (e *trip) tell(p drain.PodProgress) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = p
	close(e.changed)
	e.changed = make(chan struct{})
}

func (e *trip) progress() (drain.PodProgress, <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.last, e.changed
}

func (e *trip) awaitBlocker(reason drain.Reason, by string) {
	e.s.t.Helper()
	for {
		p, changed := e.progress()
		if b := p.Blocker; b.Reason == reason && b.By == by && b.Pod.Name == e.pod.Name {
			return
		}
		select {
		case <-changed:
		case err := <-e.result:
			e.s.t.Fatalf("EvictPod has returned (%v) before it was held up by %s %q; told last: %+v", err, reason, by, p)
		case <-e.s.ctx.Done():
			e.s.t.Fatalf("waiting until it is held up by %s %q; told last: %+v", reason, by, p)
		}
	}
}

func (e *trip) end() error {
	e.s.t.Helper()
	select {
	case err := <-e.result:
		return err
	case <-e.s.ctx.Done():
		p, _ := e.progress()
		e.s.t.Fatalf("EvictPod of %s does not end; told last: %+v", e.pod.Name, p)
		return nil
	}
}

// podsOf are the pods of an app.
func (s *scene) podsOf(app string) []corev1.Pod {
	s.t.Helper()
	list, err := s.admin.CoreV1().Pods(s.namespace).List(s.ctx, metav1.ListOptions{LabelSelector: "app=" + app})
	s.must(err)
	return list.Items
}

// evictsAnywhere tells the check at the end of the test that pods are evicted from all nodes, cordoned or not.
func (s *scene) evictsAnywhere() {
	for _, node := range s.nodes {
		s.drains(node, parameters(drain.Request{}))
	}
}
