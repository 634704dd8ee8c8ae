// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
	"github.com/slipway-k8s/slipway/responderkit"
)

// namespace is the work on one namespace.
type namespace struct {
	name   string
	surger *Surger
	turns  turns

	// The rest belongs to Reconcile.
	watches *watches
	running *loop.Watches      // nil before the first pass
	letGo   map[types.UID]bool // Evictions of which this process has completed the turn
	told    map[types.UID]bool // pods that are logged as stranded
	idle    time.Time          // since when there is nothing to do; zero: there is something
}

func newNamespace(s *Surger, name string) *namespace {
	return &namespace{
		name: name, surger: s, turns: turns{of: map[types.UID]*turn{}},
		letGo: map[types.UID]bool{}, told: map[types.UID]bool{},
	}
}

// watch begins to watch the namespace, until close or the end of ctx. known is false until everything in it is
// known, which then wakes the namespace.
func (n *namespace) watch(ctx context.Context) (known bool, err error) {
	if n.running == nil {
		if n.watches, err = newWatches(n.surger.clients, n.name); err == nil {
			w, wake := n.watches, func() { n.surger.loop.Add(n.name) }
			n.running, err = loop.Watch(ctx, w.factory, func(any) { wake() }, wake,
				w.pods, w.replicaSets, w.deployments, w.services, w.budgets, w.evictions)
		}
		if err != nil {
			return false, fmt.Errorf("watch namespace %s: %w", n.name, err)
		}
	}
	return n.running.Synced(), nil
}

func (n *namespace) close() {
	if n.running != nil {
		n.running.Close()
	}
}

// turn is one run for an Eviction. Except for over, it belongs to Reconcile.
type turn struct {
	eviction responderkit.Eviction
	report   func(message string)
	since    time.Time
	givenUp  string
	said     string
	over     chan struct{}
}

// say reports a message that differs from the last one.
func (t *turn) say(message string) {
	if t.said != message {
		t.said = message
		t.report(message)
	}
}

// complete ends the turn with a final message.
func (t *turn) complete(message string) {
	t.say(message)
	close(t.over)
}

func (t *turn) facts() *surge.Turn { return &surge.Turn{Since: t.since, GivenUp: t.givenUp} }

// turns are those of a namespace, by the UID of the pod. responderkit has at most one for a pod.
type turns struct {
	mu sync.Mutex
	of map[types.UID]*turn
}

func (t *turns) add(one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[one.eviction.PodUID] = one
}

// remove removes a turn unless another has replaced it.
func (t *turns) remove(one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[one.eviction.PodUID] == one {
		delete(t.of, one.eviction.PodUID)
	}
}

func (t *turns) get(pod types.UID) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[pod]
}

func (t *turns) all() []*turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*turn, 0, len(t.of))
	for _, one := range t.of {
		all = append(all, one)
	}
	return all
}

// The indexes: pods by the UID of the ReplicaSet that controls them; those with the marks of a release;
// Evictions by the UID of the pod.
const (
	byOwner = "owner"
	marked  = "marked"
	byPod   = "pod"
)

// watches are the watches of a namespace, and what was written to its pods.
type watches struct {
	factory informers.SharedInformerFactory
	written *ownwrites.Writes[*corev1.Pod]

	pods, replicaSets, deployments, services, budgets, evictions cache.SharedIndexInformer
}

func newWatches(clients kubernetes.Interface, namespace string) (*watches, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace), informers.WithTransform(slim))
	w := &watches{
		factory:     factory,
		pods:        factory.Core().V1().Pods().Informer(),
		replicaSets: factory.Apps().V1().ReplicaSets().Informer(),
		deployments: factory.Apps().V1().Deployments().Informer(),
		services:    factory.Core().V1().Services().Informer(),
		budgets:     factory.Policy().V1().PodDisruptionBudgets().Informer(),
		evictions:   factory.Lifecycle().V1alpha1().Evictions().Informer(),
	}
	w.written = ownwrites.New[*corev1.Pod](w.pods.GetIndexer())
	return w, errors.Join(
		w.pods.AddIndexers(cache.Indexers{byOwner: ownerOf, marked: whetherMarked}),
		w.evictions.AddIndexers(cache.Indexers{byPod: podOf}),
	)
}

// podsBy returns the pods that have a value in an index, in their newest versions.
func (w *watches) podsBy(index, value string) ([]*corev1.Pod, error) {
	return w.written.ByIndex(w.pods.GetIndexer(), index, value)
}

// current returns the newest version of a pod.
func (w *watches) current(pod *corev1.Pod) *corev1.Pod {
	if shown, ok := cached[*corev1.Pod](w.pods, pod.Namespace, pod.Name); ok && shown.UID == pod.UID {
		pod = shown
	}
	return w.written.Newer(pod)
}

func cached[T any](informer cache.SharedIndexInformer, namespace, name string) (found T, ok bool) {
	obj, exists, err := informer.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return found, false
	}
	found, ok = obj.(T)
	return found, ok
}

func all[T any](informer cache.SharedIndexInformer) []T {
	var list []T
	for _, o := range informer.GetStore().List() {
		list = append(list, o.(T))
	}
	return list
}

func ownerOf(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok {
		if owner := surge.ReplicaSetOf(pod); owner != nil {
			return []string{string(owner.UID)}, nil
		}
	}
	return nil, nil
}

func whetherMarked(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && surge.Marked(pod) {
		return []string{marked}, nil
	}
	return nil, nil
}

func podOf(obj any) ([]string, error) {
	if e, ok := obj.(*evictionv1alpha1.Eviction); ok && e.Spec.Target.Pod != nil {
		return []string{string(e.Spec.Target.Pod.UID)}, nil
	}
	return nil, nil
}

// slim keeps of a pod the fields that decisions need, and drops the managed fields of other objects.
func slim(obj any) (any, error) {
	if o, ok := obj.(metav1.Object); ok {
		o.SetManagedFields(nil)
	}
	if pod, ok := obj.(*corev1.Pod); ok {
		pod.Spec = corev1.PodSpec{NodeName: pod.Spec.NodeName}
		pod.Status = corev1.PodStatus{Phase: pod.Status.Phase, Conditions: pod.Status.Conditions}
	}
	return obj, nil
}
