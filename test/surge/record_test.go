// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	surgeroom "github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// patience is how long a test waits for something that should come.
const patience = time.Minute

// pods are all pods of a scene at one moment.
type pods []*corev1.Pod

func (p pods) where(is func(*corev1.Pod) bool) pods {
	return slices.DeleteFunc(slices.Clone(p), func(pod *corev1.Pod) bool { return !is(pod) })
}

func (p pods) named(name string) *corev1.Pod {
	for _, pod := range p {
		if pod.Name == name {
			return pod
		}
	}
	return nil
}

// begun reports whether kwok has begun to simulate the pod.
func begun(pod *corev1.Pod) bool { return len(pod.Status.ContainerStatuses) > 0 }

func isMarked(pod *corev1.Pod) bool { return surgeroom.Marked(pod) }

// isReady is strict: a pod that is being deleted does not count.
func isReady(pod *corev1.Pod) bool {
	return pod.DeletionTimestamp == nil && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// isKept tells a pod that its ReplicaSet has, without a mark of ours.
func isKept(pod *corev1.Pod) bool {
	_, labelled := pod.Labels[surgeroom.LabelReleased]
	_, dated := pod.Annotations[surgeroom.AnnotationSince]
	return surgeroom.ReplicaSetOf(pod) != nil && surgeroom.DeploymentOwner(pod) == nil && !labelled && !dated && !isMarked(pod)
}

// record is what a watch of a scene's pods has shown.
type record struct {
	t  *testing.T
	mu sync.Mutex
	at map[string]*corev1.Pod
	// fewest are the Ready pods at the moment with the fewest since begin; story what has
	// changed.
	fewest  int
	story   []string
	changed chan struct{} // closed, and made anew, with each change
}

func (s *scene) record() *record {
	s.t.Helper()
	list, err := s.clients.CoreV1().Pods(s.namespace).List(s.t.Context(), metav1.ListOptions{})
	s.must(err)
	r := &record{t: s.t, at: map[string]*corev1.Pod{}, changed: make(chan struct{})}
	ctx, stop := context.WithCancel(context.Background())
	changes, err := s.clients.CoreV1().Pods(s.namespace).Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	s.must(err)
	var watching sync.WaitGroup
	watching.Go(func() {
		for e := range changes.ResultChan() {
			if ctx.Err() == nil {
				r.see(e)
			}
		}
	})
	s.t.Cleanup(func() {
		stop()
		changes.Stop()
		watching.Wait()
		if s.t.Failed() {
			s.t.Log(strings.Join(r.story, "\n"))
		}
	})
	return r
}

func (r *record) see(e watch.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pod, ok := e.Object.(*corev1.Pod)
	if !ok {
		r.t.Errorf("the watch of pods has ended: %v", e.Object)
		return
	}
	if e.Type == watch.Deleted {
		delete(r.at, pod.Name)
	} else {
		r.at[pod.Name] = pod
	}
	ready := len(r.all().where(isReady))
	r.fewest = min(r.fewest, ready)
	r.story = append(r.story, fmt.Sprintf("%s %s %s: node %q, %s, ready %t, deleted %t, hash %s, marked %t; %d are Ready", time.Now().Format("05.000000"),
		e.Type, pod.Name, pod.Spec.NodeName, pod.Status.Phase, isReady(pod), pod.DeletionTimestamp != nil, pod.Labels[surgeroom.LabelHash], isMarked(pod), ready))
	close(r.changed)
	r.changed = make(chan struct{})
}

func (r *record) all() pods {
	var all pods
	for _, pod := range r.at {
		all = append(all, pod)
	}
	slices.SortFunc(all, func(a, b *corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// now are the pods that the watch has shown.
func (r *record) now() pods {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all()
}

// begin counts the fewest Ready pods from now on.
func (r *record) begin() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fewest = len(r.all().where(isReady))
}

// fewestReady are the Ready pods at the moment with the fewest since begin.
func (r *record) fewestReady() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fewest
}

// await waits until the pods are as wanted.
func (r *record) await(what string, is func(pods) bool) pods {
	r.t.Helper()
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		r.mu.Lock()
		all, changed := r.all(), r.changed
		r.mu.Unlock()
		if is(all) {
			return all
		}
		select {
		case <-changed:
		case <-deadline.C:
			r.t.Fatalf("waiting until %s", what)
		}
	}
}

// awaitGone waits until a pod is gone.
func (r *record) awaitGone(pod *corev1.Pod) {
	r.t.Helper()
	r.await("pod "+pod.Name+" is gone", func(all pods) bool { return all.named(pod.Name) == nil })
}

// awaitReplaced waits until so many pods are there, all of them their ReplicaSet's.
func (r *record) awaitKept(many int) pods {
	r.t.Helper()
	return r.await(fmt.Sprintf("%d pods are there, and all are kept", many), func(all pods) bool {
		return len(all) == many && len(all.where(isKept)) == many
	})
}
