// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/kubectl/pkg/util/podutils"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// newStore returns a store that calls changed when what it keeps of an object is different, and when
// it knows all objects: most changes of objects do not matter.
func newStore[T any](read func(metav1.Object) (T, bool), changed func()) *watchstore.Store[T] {
	return watchstore.New(watchstore.Options[T]{
		Convert: func(obj any) (item T, wanted bool) {
			if o, ok := obj.(metav1.Object); ok {
				return read(o)
			}
			return item, false
		},
		Same: func(before, after T) bool { return reflect.DeepEqual(before, after) },
		Changed: func(c watchstore.Change[T]) {
			if c.Differs {
				changed()
			}
		},
	})
}

// podSource returns the pods that field and label selectors select; empty: all.
func podSource(pods corev1client.PodInterface, fields, labels string) watchstore.Source {
	source := watchstore.From("maintenances", &corev1.Pod{}, func(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
		list, err := pods.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		return list, nil
	}, pods.Watch)
	source.Fields, source.Labels = fields, labels
	return source
}

// startSlim fills a store with something of all pods of the cluster. While the first of them arrive,
// all are in memory at a time, so they are slimmed at once.
func startSlim[T any](ctx context.Context, store *watchstore.Store[T], source watchstore.Source) (stop func()) {
	list := source.List
	source.List = func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		o, err := list(ctx, options)
		if pods, ok := o.(*corev1.PodList); ok && err == nil {
			for i := range pods.Items {
				pods.Items[i] = *slimPod(&pods.Items[i])
			}
		}
		return o, err
	}
	return watchstore.Start(ctx, func(ctx context.Context) { watchstore.Fill(ctx, slimming[T]{store}, source) })
}

// slimming is a store whose Reflector slims pods before it keeps them.
type slimming[T any] struct{ *watchstore.Store[T] }

// Transformer implements cache.TransformingStore.
func (slimming[T]) Transformer() toolscache.TransformFunc {
	return func(o any) (any, error) {
		if pod, ok := o.(*corev1.Pod); ok {
			return slimPod(pod), nil
		}
		return o, nil
	}
}

// slimPod returns a pod with what sharedpdbs.ReadPod and maintenance.ReadNotReady read, and what a
// Reflector needs.
func slimPod(pod *corev1.Pod) *corev1.Pod {
	slim := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		Labels: pod.Labels, OwnerReferences: pod.OwnerReferences,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
	}}
	if mirror, static := pod.Annotations[corev1.MirrorPodAnnotationKey]; static {
		slim.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: mirror}
	}
	slim.Spec.NodeName, slim.Status.Phase = pod.Spec.NodeName, pod.Status.Phase
	slim.Spec.RestartPolicy = pod.Spec.RestartPolicy
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return slim
}

// grace is until when no step is done because a watch has not shown everything yet: it could hold
// somebody back. Zero: nobody waits any more.
type grace struct{ until time.Time }

// wait returns until when to wait; zero: all is known, or it has taken too long. gaveUp is true
// once, in the latter case.
func (g *grace) wait(now time.Time, known bool) (until time.Time, gaveUp bool) {
	switch {
	case g.until.IsZero():
		return time.Time{}, false
	case !known && now.Before(g.until):
		return g.until, false
	}
	g.until = time.Time{}
	return time.Time{}, !known
}

// health watches the pods of the nodes that have returned, while it is asked for.
type health struct {
	pods    corev1client.PodInterface
	changed func()

	mu sync.Mutex
	of map[string]nodeHealth
}

// nodeHealth has the pods of DaemonSets on a node that are not Ready.
type nodeHealth struct {
	*watchstore.Store[string]
	stop func()
}

func newHealth(pods corev1client.PodInterface, changed func()) *health {
	return &health{pods: pods, changed: changed, of: map[string]nodeHealth{}}
}

// watch watches the pods of these nodes, and no others, until ctx ends.
func (h *health) watch(ctx context.Context, nodes []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for name, n := range h.of {
		if !slices.Contains(nodes, name) {
			n.stop()
			delete(h.of, name)
		}
	}
	for _, name := range nodes {
		if _, watched := h.of[name]; watched {
			continue
		}
		store := newStore(unready, h.changed)
		stop := store.Start(ctx, podSource(h.pods, fields.OneTermEqualSelector("spec.nodeName", name).String(), ""))
		h.of[name] = nodeHealth{store, stop}
	}
}

// unreadyOn returns the pods of DaemonSets on the node that are not Ready, once all are known.
func (h *health) unreadyOn(node string) (pods []string, known bool) {
	h.mu.Lock()
	n, watched := h.of[node]
	h.mu.Unlock()
	if !watched {
		return nil, false
	}
	pods, known = n.List()
	slices.Sort(pods)
	return pods, known
}

func (h *health) close() { h.watch(context.Background(), nil) }

// unready returns the name of a pod that belongs to its node and is not Ready.
func unready(o metav1.Object) (name string, wanted bool) {
	pod, ok := o.(*corev1.Pod)
	if !ok || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed || !sharedpdbs.BelongsToNode(pod) {
		return "", false
	}
	return pod.Namespace + "/" + pod.Name, !podutils.IsPodReady(pod)
}

// pending watches which pods are Pending or not Ready, while it is asked for. No selector tells
// whether a pod is Ready, so it reads all that have not ended, and keeps a few words of those that
// are not.
type pending struct {
	pods    corev1client.PodInterface
	changed func()

	mu    sync.Mutex
	of    *watchstore.Store[maintenance.NotReadyPod]
	stop  func()
	grace grace
}

// patience is for how long no step is done because a list of all pods of a large cluster takes a
// while.
const patience = 30 * time.Second

// notEnded selects the pods that may still run.
const notEnded = "status.phase!=Failed,status.phase!=Succeeded"

func newPending(pods corev1client.PodInterface, changed func()) *pending {
	return &pending{pods: pods, changed: changed}
}

// watch watches them, or not, until ctx ends. It returns until when to wait for them; zero: they are
// known, are not wanted, or cannot be read.
func (p *pending) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case wanted && p.of == nil:
		p.of = newStore(readNotReady, p.changed)
		p.stop = startSlim(ctx, p.of, podSource(p.pods, notEnded, ""))
		p.grace = grace{now.Add(patience)}
	case !wanted && p.of != nil:
		p.stop()
		p.of = nil
	}
	if p.of == nil {
		return time.Time{}
	}
	until, gaveUp := p.grace.wait(now, p.of.Synced())
	if gaveUp {
		log.FromContext(ctx).Error(errors.New("pods cannot be read"), "Maintenances continue without looking at pods that are Pending or not Ready", "remedy", grant)
	}
	return until
}

// all returns those that are known, the oldest first.
func (p *pending) all() []maintenance.NotReadyPod {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		return nil
	}
	all, _ := p.of.List()
	maintenance.SortNotReady(all)
	return all
}

func (p *pending) close() { p.watch(context.Background(), false, time.Time{}) }

func readNotReady(o metav1.Object) (p maintenance.NotReadyPod, wanted bool) {
	if pod, ok := o.(*corev1.Pod); ok {
		return maintenance.ReadNotReady(pod)
	}
	return maintenance.NotReadyPod{}, false
}
