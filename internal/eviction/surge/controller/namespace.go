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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	runs   runs

	// The rest belongs to Reconcile.
	watches *watches
	running *loop.Watches      // nil before the first pass
	letGo   map[types.UID]bool // Evictions of which this process has completed the run
	logged  map[types.UID]bool // stranded pods
	idle    time.Time          // the time of the last work; zero: the namespace has work
}

func newNamespace(s *Surger, name string) *namespace {
	return &namespace{
		name: name, surger: s,
		letGo: map[types.UID]bool{}, logged: map[types.UID]bool{},
	}
}

// watch watches the namespace until close or the end of ctx. known is false until the watch knows everything; then it
// wakes the namespace.
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

// run is one run of the responder for an Eviction. Except for over, it belongs to Reconcile.
type run struct {
	eviction responderkit.Eviction
	report   func(message string)
	since    time.Time
	givenUp  string
	reported string
	over     chan struct{}
}

// tell reports a message that differs from the last one.
func (t *run) tell(message string) {
	if t.reported != message {
		t.reported = message
		t.report(message)
	}
}

// complete ends the run with a final message.
func (t *run) complete(message string) {
	t.tell(message)
	close(t.over)
}

// runs has the runs of a namespace, by the UID of the pod. responderkit has at most one for a pod.
type runs struct{ byPod sync.Map }

func (t *runs) add(one *run) { t.byPod.Store(one.eviction.PodUID, one) }

// remove removes a run unless another has replaced it.
func (t *runs) remove(one *run) { t.byPod.CompareAndDelete(one.eviction.PodUID, one) }

func (t *runs) get(pod types.UID) *run {
	one, ok := t.byPod.Load(pod)
	if !ok {
		return nil
	}
	return one.(*run)
}

func (t *runs) all() (all []*run) {
	for _, one := range t.byPod.Range {
		all = append(all, one.(*run))
	}
	return all
}

// The indexes: pods by the UID of the ReplicaSet that controls them; pods with the marks of a release; Evictions by
// the UID of the pod.
const (
	byOwner = "owner"
	marked  = "marked"
	byPod   = "pod"
)

// watches are the watches of a namespace.
type watches struct {
	factory   informers.SharedInformerFactory
	pods      ownwrites.Informer[*corev1.Pod]
	evictions ownwrites.Informer[*evictionv1alpha1.Eviction]

	replicaSets, deployments, services, budgets cache.SharedIndexInformer
}

func newWatches(clients kubernetes.Interface, namespace string) (*watches, error) {
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace), informers.WithTransform(slim))
	pods, errPods := ownwrites.NewInformer(factory.Core().V1().Pods().Informer(), map[string]func(*corev1.Pod) []string{
		byOwner: func(pod *corev1.Pod) []string {
			if owner := surge.ReplicaSetOf(pod); owner != nil {
				return []string{string(owner.UID)}
			}
			return nil
		},
		marked: func(pod *corev1.Pod) []string {
			if surge.Marked(pod) {
				return []string{marked}
			}
			return nil
		},
	})
	evictions, errEvictions := ownwrites.NewInformer(factory.Lifecycle().V1alpha1().Evictions().Informer(), map[string]func(*evictionv1alpha1.Eviction) []string{
		byPod: func(e *evictionv1alpha1.Eviction) []string {
			if e.Spec.Target.Pod != nil {
				return []string{string(e.Spec.Target.Pod.UID)}
			}
			return nil
		},
	})
	return &watches{
		factory: factory, pods: pods, evictions: evictions,
		replicaSets: factory.Apps().V1().ReplicaSets().Informer(),
		deployments: factory.Apps().V1().Deployments().Informer(),
		services:    factory.Core().V1().Services().Informer(),
		budgets:     factory.Policy().V1().PodDisruptionBudgets().Informer(),
	}, errors.Join(errPods, errEvictions)
}

// current returns the newest version of a pod.
func (w *watches) current(pod *corev1.Pod) *corev1.Pod {
	if shown, ok := cached[*corev1.Pod](w.pods, pod.Namespace, pod.Name); ok && shown.UID == pod.UID {
		pod = shown
	}
	return w.pods.Newer(pod)
}

func cached[T any](informer cache.SharedIndexInformer, namespace, name string) (found T, ok bool) {
	obj, exists, err := informer.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return found, false
	}
	found, ok = obj.(T)
	return found, ok
}

// find returns the object with that name and UID from the cache, or from the API server, because the cache may be
// late; nil if it does not exist.
func find[T any, P object[T]](
	ctx context.Context, informer cache.SharedIndexInformer, namespace, name string, uid types.UID,
	get func(context.Context, string, metav1.GetOptions) (P, error),
) (P, error) {
	if found, ok := cached[P](informer, namespace, name); ok && found.GetUID() == uid {
		return found, nil
	}
	return live(ctx, name, uid, get)
}

type object[T any] interface {
	*T
	metav1.Object
}

// live returns the object with that name and UID from the API server; nil if it does not exist.
func live[T any, P object[T]](ctx context.Context, name string, uid types.UID, get func(context.Context, string, metav1.GetOptions) (P, error)) (P, error) {
	found, err := get(ctx, name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err), err == nil && found.GetUID() != uid:
		return nil, nil //nolint:nilnil // a missing object is no error
	case err != nil:
		return nil, fmt.Errorf("read a pod or its owner: %w", err)
	default:
		return found, nil
	}
}

func all[T any](informer cache.SharedIndexInformer) []T {
	var list []T
	for _, o := range informer.GetStore().List() {
		list = append(list, o.(T))
	}
	return list
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
