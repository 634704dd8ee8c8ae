// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Await waits until one of the listed objects is as wanted, and returns it. list is
// an empty list of the kind.
func Await[T client.Object](t *testing.T, e *Env, what string, list client.ObjectList, wanted func(T) bool, options ...client.ListOption) T {
	t.Helper()
	var last T
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	_, err := watchtools.UntilWithSync(ctx, lister(e, list, options), last, nil, func(event watch.Event) (bool, error) {
		object, ok := event.Object.(T)
		if !ok || event.Type == watch.Deleted {
			return false, nil
		}
		last = object
		return wanted(object), nil
	})
	if err != nil {
		t.Fatalf("waiting until it %s: %v; it was last seen as %+v", what, err, last)
	}
	return last
}

// AwaitNone waits until there is no object that the options list.
func AwaitNone[T client.Object](t *testing.T, e *Env, list client.ObjectList, options ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	present := map[string]T{}
	none := errors.New("none")
	var sample T
	_, err := watchtools.UntilWithSync(ctx, lister(e, list, options), sample, func(store cache.Store) (bool, error) {
		for _, object := range store.List() {
			o := object.(T)
			present[o.GetNamespace()+"/"+o.GetName()] = o
		}
		return len(present) == 0, nil
	}, func(event watch.Event) (bool, error) {
		o, ok := event.Object.(T)
		if !ok {
			return false, nil
		}
		if event.Type == watch.Deleted {
			delete(present, o.GetNamespace()+"/"+o.GetName())
		} else {
			present[o.GetNamespace()+"/"+o.GetName()] = o
		}
		return len(present) == 0, nil
	})
	if err != nil && !errors.Is(err, none) {
		t.Fatalf("waiting until none is left: %v; there is %+v", err, present)
	}
}

func lister(e *Env, list client.ObjectList, options []client.ListOption) cache.ListerWatcher {
	all := func(raw metav1.ListOptions) []client.ListOption {
		return append([]client.ListOption{&client.ListOptions{Raw: &raw}}, options...)
	}
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject().(client.ObjectList)
			return into, e.Client.List(ctx, into, all(raw)...)
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return e.Client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), all(raw)...)
		},
	}, e.Client)
}

// Named lists the object of that name.
func Named(name string) client.ListOption { return client.MatchingFields{"metadata.name": name} }

// AwaitTime waits until a time that an object names.
func AwaitTime(t *testing.T, at time.Time) {
	t.Helper()
	timer := time.NewTimer(time.Until(at))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
		t.Fatalf("waiting until %s: %v", at, t.Context().Err())
	}
}

// AwaitEvent waits until an event is as wanted.
func (e *Env) AwaitEvent(t *testing.T, name, what string, wanted func(*lifecyclev1alpha1.LifecycleEvent) bool) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	return Await(t, e, "event "+name+" "+what, &lifecyclev1alpha1.LifecycleEventList{}, wanted, Named(name))
}

// AwaitCondition waits until an event has a condition with that reason, and a message
// with all of the given texts.
func (e *Env) AwaitCondition(t *testing.T, name, conditionType, reason string, texts ...string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	what := fmt.Sprintf("has condition %s with reason %s and %q", conditionType, reason, texts)
	return e.AwaitEvent(t, name, what, func(event *lifecyclev1alpha1.LifecycleEvent) bool {
		c := meta.FindStatusCondition(event.Status.Conditions, conditionType)
		return c != nil && c.Reason == reason &&
			!slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(c.Message, text) })
	})
}

// AwaitCoreEvent waits until the node is told of in a core Event with that reason.
func (e *Env) AwaitCoreEvent(t *testing.T, node, reason string) *corev1.Event {
	t.Helper()
	return Await(t, e, "a core Event "+reason+" of node "+node, &corev1.EventList{},
		func(*corev1.Event) bool { return true },
		client.MatchingFields{"involvedObject.kind": "Node", "involvedObject.name": node, "reason": reason})
}

// AwaitEventGone waits until there is no event of that name.
func (e *Env) AwaitEventGone(t *testing.T, name string) {
	t.Helper()
	AwaitNone[*lifecyclev1alpha1.LifecycleEvent](t, e, &lifecyclev1alpha1.LifecycleEventList{}, Named(name))
}

// Await waits until the Node is as wanted.
func (n *Node) Await(what string, wanted func(*corev1.Node) bool) *corev1.Node {
	n.t.Helper()
	return Await(n.t, n.env, "node "+n.Name+" "+what, &corev1.NodeList{}, wanted, Named(n.Name))
}

// AwaitReady waits until the pod is ready.
func (n *Node) AwaitReady(pod *corev1.Pod) {
	n.t.Helper()
	Await(n.t, n.env, "pod "+pod.Name+" is ready", &corev1.PodList{}, func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
			return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
		})
	}, Named(pod.Name), client.InNamespace(pod.Namespace))
}

// AwaitPodsGone waits until the node has no pod with the label.
func (n *Node) AwaitPodsGone(selector client.MatchingLabels) {
	n.t.Helper()
	AwaitNone[*corev1.Pod](n.t, n.env, &corev1.PodList{}, selector, client.MatchingFields{"spec.nodeName": n.Name})
}
