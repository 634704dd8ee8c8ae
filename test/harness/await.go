// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// Await waits until one of the listed objects satisfies wanted, and returns it. list is an empty
// list of the kind.
func Await[T client.Object](t *testing.T, e *Env, what string, list client.ObjectList, wanted func(T) bool, options ...client.ListOption) T {
	t.Helper()
	var last T
	err := e.follow(t, list, options, nil, func(o client.Object, gone bool) bool {
		object, ok := o.(T)
		if !ok || gone {
			return false
		}
		last = object
		return wanted(object)
	})
	if err != nil {
		t.Fatalf("waiting until it %s: %v; it was last seen as %+v", what, err, last)
	}
	return last
}

// AwaitNone waits until there is no object that the options list.
func AwaitNone[T client.Object](t *testing.T, e *Env, list client.ObjectList, options ...client.ListOption) {
	t.Helper()
	e.AwaitNoneThat(t, list, func(client.Object) bool { return true }, options...)
}

// AwaitNoneThat waits until no listed object satisfies unwanted.
func (e *Env) AwaitNoneThat(t *testing.T, list client.ObjectList, unwanted func(client.Object) bool, options ...client.ListOption) {
	t.Helper()
	present := map[string]client.Object{}
	see := func(o client.Object, gone bool) bool {
		key := o.GetNamespace() + "/" + o.GetName()
		if delete(present, key); !gone && unwanted(o) {
			present[key] = o
		}
		return len(present) == 0
	}
	err := e.follow(t, list, options, func(store cache.Store) bool {
		for _, object := range store.List() {
			see(object.(client.Object), false)
		}
		return len(present) == 0
	}, see)
	if err != nil {
		t.Fatalf("waiting until none of %T is unwanted: %v; there are %+v", list, err, present)
	}
}

// AwaitAll waits until each of the named objects has satisfied wanted once.
func (e *Env) AwaitAll(t *testing.T, what string, list client.ObjectList, names []string, wanted func(client.Object) bool, options ...client.ListOption) {
	t.Helper()
	missing := sets.New(names...)
	err := e.follow(t, list, options, nil, func(o client.Object, gone bool) bool {
		if !gone && wanted(o) {
			missing.Delete(o.GetName())
		}
		return len(missing) == 0
	})
	if err != nil {
		t.Fatalf("waiting until each %s is as wanted: %v; not yet %v", what, err, sets.List(missing))
	}
}

// follow calls see for each change of the listed objects until it returns true. begin, if given, is called with the
// first objects.
func (e *Env) follow(t *testing.T, list client.ObjectList, options []client.ListOption, begin func(cache.Store) bool, see func(o client.Object, gone bool) bool) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var first watchtools.PreconditionFunc
	if begin != nil {
		first = func(store cache.Store) (bool, error) { return begin(store), nil }
	}
	_, err := watchtools.UntilWithSync(ctx, devcluster.ListerOf(e.Client, list, options...), nil, first, func(event watch.Event) (bool, error) {
		o, ok := event.Object.(client.Object)
		return ok && see(o, event.Type == watch.Deleted), nil
	})
	return err
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

// AwaitCoreEvent waits until the node has a core Event with that reason.
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

// Observed guards something that changes while a test waits for it. Its zero value is ready.
type Observed struct {
	mu      sync.Mutex
	changed chan struct{} // closed with the next change; nil unless a test waits
}

// Change makes a change, and wakes up those who wait.
func (o *Observed) Change(do func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	do()
	if o.changed != nil {
		close(o.changed)
		o.changed = nil
	}
}

// Look reads the guarded state.
func (o *Observed) Look(read func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	read()
}

// Await waits until holds returns true. It returns false if ended is closed first, or after too long a time without a
// change.
func (o *Observed) Await(ended <-chan struct{}, holds func() bool) bool {
	deadline := time.NewTimer(Patience)
	defer deadline.Stop()
	for {
		var changed chan struct{}
		held := false
		o.Look(func() {
			if held = holds(); !held && o.changed == nil {
				o.changed = make(chan struct{})
			}
			changed = o.changed
		})
		if held {
			return true
		}
		select {
		case <-changed:
		case <-ended:
			return false
		case <-deadline.C:
			return false
		}
	}
}
