// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/nodelease"
)

// world is an API server with one node, its lease and its events. The events' drivers and
// the guards are the test's.
type world struct {
	epoch, now time.Time
	node       *corev1.Node
	cordoned   []string // for these events
	lease      *coordinationv1.Lease
	events     map[string]*lifecyclev1alpha1.LifecycleEvent
	serial     int
}

const theNode = "w1"

var transitions = map[string]*lifecyclev1alpha1.LifecycleTransition{
	"drain":  {Spec: lifecyclev1alpha1.LifecycleTransitionSpec{Start: "drain-started", End: "drained"}},
	"return": {Spec: lifecyclev1alpha1.LifecycleTransitionSpec{Start: "returning", End: lifecyclev1alpha1.StateMaintenanceComplete}},
	// As the KEP spells it.
	"return-kep": {Spec: lifecyclev1alpha1.LifecycleTransitionSpec{Start: "Uncordoning", End: "MaintenanceComplete"}},
}

func newWorld() *world {
	epoch := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	w := &world{epoch: epoch, now: epoch, events: map[string]*lifecyclev1alpha1.LifecycleEvent{}}
	w.register()
	return w
}

func (w *world) register() {
	w.serial++
	w.node = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: theNode, UID: types.UID(fmt.Sprintf("node-%d", w.serial))}}
}

// remove deletes the Node, and what it owns with it.
func (w *world) remove() { w.node, w.cordoned, w.lease = nil, nil, nil }

func (w *world) facts() Facts {
	f := Facts{NodeName: theNode, Node: w.node, CordonedFor: w.cordoned, Lease: w.lease, Transitions: transitions}
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		f.Events = append(f.Events, w.events[name])
	}
	return f
}

func (w *world) addEvent(name, transition string, gates ...string) *lifecyclev1alpha1.LifecycleEvent {
	w.serial++
	e := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, w.serial)), Generation: 1, CreationTimestamp: metav1.NewTime(w.now),
		},
		Spec:   lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: theNode},
		Status: lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending},
	}
	for _, gate := range gates {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: gate})
	}
	w.events[name] = e
	return e
}

// change replaces the event by a changed copy: facts that were taken stay as they were.
func (w *world) change(name string, f func(*lifecyclev1alpha1.LifecycleEvent)) {
	changed := w.events[name].DeepCopy()
	f(changed)
	w.events[name] = changed
}

func (w *world) removeGate(name, gate string) {
	w.change(name, func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Gates = slices.DeleteFunc(e.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool { return g.Name == gate })
	})
}

// claim is what an agent does with an event that nothing holds back.
func (w *world) claim(name string) {
	w.change(name, func(e *lifecyclev1alpha1.LifecycleEvent) {
		t := transitions[e.Spec.TransitionName]
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
		e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: t.Spec.Start, End: t.Spec.End}
	})
}

// end has the driver reach the end: a node that returned is cordoned no more.
func (w *world) end(name string) {
	if w.events[name].Spec.TransitionName == "return" {
		w.cordoned = nil
	}
	delete(w.events, name)
}

func (w *world) cordon(event string) {
	if w.node != nil && !slices.Contains(w.cordoned, event) {
		w.cordoned = append(slices.Clone(w.cordoned), event)
	}
}

// take is what another holder does: it gets the lease if that is free.
func (w *world) take(holder, purpose string, d time.Duration) bool {
	if held, is := nodelease.Read(w.lease, w.now); w.node == nil || is && held.Holder != holder {
		return false
	}
	w.lease = nodelease.Take(w.lease, w.node, holder, purpose, d, w.now)
	return true
}

// record does what the policy node-lease-writers does.
func (w *world) record(user string) {
	if user != "" {
		metav1.SetMetaDataAnnotation(&w.lease.ObjectMeta, nodelease.WriterAnnotation, user)
	}
}

func (w *world) give() { w.lease = nodelease.Give(w.lease, w.now) }

// apply does a step as the doer does it.
func (w *world) apply(step Step) {
	switch s := step.(type) {
	case Acquire:
		w.lease = nodelease.Take(s.Lease, w.node, nodelease.Slipway, s.Purpose, Duration, w.now)
	case Renew:
		w.lease = nodelease.Take(s.Lease, w.node, nodelease.Slipway, s.Purpose, Duration, w.now)
	case Release:
		w.lease = nodelease.Give(s.Lease, w.now)
	case Mirror:
		w.node = w.node.DeepCopy()
		delete(w.node.Annotations, nodelease.Annotation)
		if s.Value != "" {
			metav1.SetMetaDataAnnotation(&w.node.ObjectMeta, nodelease.Annotation, s.Value)
		}
	case WriteStatus:
		w.change(s.Event.Name, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status = *s.Status.DeepCopy() })
	case RemoveGate:
		w.removeGate(s.Event.Name, lifecyclev1alpha1.GateLease)
	default:
		panic(fmt.Sprintf("unknown step %T", step))
	}
}

// describe is the step as lines of a script.
func describe(step Step) string {
	switch s := step.(type) {
	case Acquire:
		return fmt.Sprintf("acquire (%s)", s.Purpose)
	case Renew:
		return fmt.Sprintf("renew (%s)", s.Purpose)
	case Release:
		return "release"
	case Mirror:
		return strings.TrimSpace("mirror " + s.Value)
	case WriteStatus:
		c := apimeta.FindStatusCondition(s.Status.Conditions, lifecyclev1alpha1.ConditionLeaseHeld)
		return fmt.Sprintf("%s: LeaseHeld=%s %s (%s)", s.Event.Name, c.Status, c.Reason, c.Message)
	case RemoveGate:
		return "remove the gate of " + s.Event.Name
	default:
		return fmt.Sprintf("%T", step)
	}
}
