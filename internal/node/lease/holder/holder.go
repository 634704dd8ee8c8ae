// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Options of a [Holder]. All are required.
type Options struct {
	// Cached reads the process's watches; Live reads from the API server.
	Cached, Live client.Reader
	// Leases are in nodelease.Namespace.
	Leases coordinationclient.LeaseInterface
	// Recorder writes events, and Writer the Node of that name.
	Recorder *record.Recorder
	Writer   func(node string) *nodestate.Writer
	Observer *telemetry.Source
	Clock    clock.PassiveClock
}

// Holder keeps the leases of nodes. It has no memory: a new leader continues.
type Holder struct{ Options }

// New returns a Holder.
func New(options Options) *Holder { return &Holder{options} }

// Reconcile performs at most one step for a node. Its write wakes the node again.
func (h *Holder) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	now := h.Clock.Now()
	facts, err := h.gather(ctx, h.Cached, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := leases.Next(facts, now)
	if decision.Step == nil {
		return loop.Wait(decision.Wake, now), nil
	}
	return loop.AfterStep(ctx, node, h.perform(ctx, facts, decision.Step))
}

// gather collects the facts about the node.
func (h *Holder) gather(ctx context.Context, from client.Reader, name string) (leases.Facts, error) {
	facts := leases.Facts{NodeName: name}
	var node corev1.Node
	err := from.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) {
		return facts, nil // its lease goes with it
	}
	if err != nil {
		return facts, fmt.Errorf("read node %s: %w", name, err)
	}
	facts.Node = &node
	owners, _ := nodestate.Cordons(&node)
	for _, owner := range owners {
		facts.CordonedFor = append(facts.CordonedFor, owner.Event)
	}
	var lease coordinationv1.Lease
	if err := from.Get(ctx, client.ObjectKey{Namespace: nodelease.Namespace, Name: name}, &lease); client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read the lease of node %s: %w", name, err)
	} else if err == nil {
		facts.Lease = &lease
	}
	if facts.Events, err = loop.Events(ctx, from, name); err != nil || len(facts.Events) == 0 {
		return facts, err
	}
	// An event copies its transition when it is claimed: the cache is enough.
	facts.Transitions, err = loop.Transitions(ctx, h.Cached)
	return facts, err
}

// perform performs one step. It decides a step again that opens the node to an event or to another holder, on the
// facts that the API server has now: the cache may not show a cordon yet.
func (h *Holder) perform(ctx context.Context, facts leases.Facts, step leases.Step) (err error) {
	switch step.(type) {
	case leases.RemoveGate, leases.Release:
		if step, err = h.confirm(ctx, facts.NodeName, step); err != nil {
			return err
		}
	}
	logger := log.FromContext(ctx)
	switch s := step.(type) {
	case leases.Acquire:
		return h.take(ctx, facts, s.Lease, s.Purpose)
	case leases.Renew:
		return h.take(ctx, facts, s.Lease, s.Purpose)
	case leases.Release:
		_, err := h.Leases.Update(ctx, nodelease.Give(s.Lease, h.Clock.Now()), metav1.UpdateOptions{})
		if err = stale("release", s.Lease, err); err == nil {
			logger.V(1).Info("Released the lease")
		}
		return reach(faultpoint.LeaseReleased, err)
	case leases.Mirror:
		return h.Writer(facts.NodeName).SetLease(ctx, s.Value)
	case leases.WriteStatus:
		if _, err := h.Recorder.WriteStatus(ctx, s.Event, s.Status); err != nil {
			return err
		}
		h.Observer.Node(facts.NodeName).Wrote(s.Event, s.Status, h.Clock.Now())
		return nil
	case leases.RemoveGate:
		logger.Info("The event passes with the lease", "event", s.Event.Name)
		return reach(faultpoint.LeaseGateRemoved, h.Recorder.RemoveGate(ctx, s.Event, lifecyclev1alpha1.GateLease))
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

// confirm returns the step that the API server's current facts give, if it is of the same kind for the same event.
func (h *Holder) confirm(ctx context.Context, node string, step leases.Step) (leases.Step, error) {
	facts, err := h.gather(ctx, h.Live, node)
	if err != nil {
		return nil, err
	}
	fresh := leases.Next(facts, h.Clock.Now()).Step
	if subject(fresh) != subject(step) {
		return nil, fmt.Errorf("%s: %w", subject(step), record.ErrStale)
	}
	return fresh, nil
}

// subject identifies a step.
func subject(step leases.Step) string {
	if s, ok := step.(leases.RemoveGate); ok {
		return fmt.Sprintf("remove the gate of event %s", s.Event.UID)
	}
	return fmt.Sprintf("%T", step)
}

// take acquires or renews the lease, if it is unchanged since it was seen.
func (h *Holder) take(ctx context.Context, facts leases.Facts, seen *coordinationv1.Lease, purpose string) (err error) {
	lease := nodelease.Take(seen, facts.Node, nodelease.Slipway, purpose, leases.Duration, h.Clock.Now())
	if seen == nil {
		_, err = h.Leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = h.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err = stale("take", lease, err); err == nil {
		log.FromContext(ctx).V(1).Info("Acquired or renewed the lease", "purpose", purpose)
	}
	return reach(faultpoint.LeaseTaken, err)
}

// stale marks the error of a write that another writer has overtaken: the next pass decides again.
func stale(verb string, lease *coordinationv1.Lease, err error) error {
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err) {
		err = record.ErrStale
	}
	if err != nil {
		return fmt.Errorf("%s the lease of node %s: %w", verb, lease.Name, err)
	}
	return nil
}

func reach(point string, err error) error {
	if err == nil {
		faultpoint.Reach(point)
	}
	return err
}

// Sources wake a Holder: the events of a node, its lease with any holder, and the Node itself.
func Sources(from cache.Cache) []source.TypedSource[string] {
	b := bell{from}
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(loop.BindingNode)),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{}, loop.NodesOf(b.transitionChanged)),
		source.TypedKind(from, &coordinationv1.Lease{}, loop.NodesOf(b.leaseChanged)),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(b.nodeChanged), asHeld()),
	}
}

// asHeld drops changes of a Node that do not matter to its lease: heartbeats.
func asHeld() predicate.TypedPredicate[*corev1.Node] {
	type held struct {
		uid            string
		unschedulable  bool
		cordons, lease string
	}
	of := func(n *corev1.Node) held {
		return held{string(n.UID), n.Spec.Unschedulable, n.Annotations[nodestate.CordonsAnnotation], n.Annotations[nodestate.LeaseAnnotation]}
	}
	return predicate.TypedFuncs[*corev1.Node]{
		UpdateFunc: func(e event.TypedUpdateEvent[*corev1.Node]) bool { return of(e.ObjectOld) != of(e.ObjectNew) },
	}
}

// bell names the nodes that a change wakes.
type bell struct{ cached client.Reader }

// transitionChanged wakes the nodes of a transition's events: a transition that returns nodes needs no lease.
func (b bell) transitionChanged(ctx context.Context, t *lifecyclev1alpha1.LifecycleTransition) []string {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := b.cached.List(ctx, &events, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "Cannot read the cache of events")
	}
	return nodesWith(events.Items, t.Name)
}

func nodesWith(events []lifecyclev1alpha1.LifecycleEvent, transition string) (nodes []string) {
	for i := range events {
		if e := &events[i]; e.Spec.TransitionName == transition {
			nodes = append(nodes, e.Spec.BindingNode)
		}
	}
	return nodes
}

func (bell) leaseChanged(_ context.Context, l *coordinationv1.Lease) []string {
	return []string{l.Name}
}

// nodeChanged wakes the node. The watches of leases and of events may be ahead of the watch of Nodes: a Node that is
// shown last gets its annotation then.
func (bell) nodeChanged(_ context.Context, n *corev1.Node) []string {
	return []string{n.Name}
}
