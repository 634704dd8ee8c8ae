// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

// world is a cluster as the controller sees it: objects, which survive a crash of the
// controller, and its memory, which does not.
type world struct {
	now, epoch  time.Time
	nodes       map[string]*corev1.Node
	pods        map[string]*corev1.Pod // of agents, by node
	cordons     map[string][]types.UID // by node
	events      map[string]*lifecyclev1alpha1.LifecycleEvent
	transitions map[string]*lifecyclev1alpha1.LifecycleTransition
	holds       []*hold.Hold
	freezes     []*freeze.Freeze
	budgets     []*availability.Budget
	central     bool
	registered  map[string]bool // whether the driver of a transition is registered with the controller
	leases      bool
	strict      bool
	ttl         time.Duration
	skew        map[string]time.Duration // of the clocks of nodes
	serial      int

	// the controller's memory
	since        time.Time
	lost         map[string]Sighting
	missingSince map[string]time.Time // of the drivers of transitions

	// history is each claim status that an event has had, by UID.
	history map[types.UID][]lifecyclev1alpha1.ClaimStatus
	// outcome is the reason for which an event has ended, by UID.
	outcome map[types.UID]string
}

func newWorld() *world {
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := &world{
		now: epoch, epoch: epoch,
		nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, cordons: map[string][]types.UID{},
		events: map[string]*lifecyclev1alpha1.LifecycleEvent{}, transitions: map[string]*lifecyclev1alpha1.LifecycleTransition{},
		history: map[types.UID][]lifecyclev1alpha1.ClaimStatus{}, outcome: map[types.UID]string{},
		skew: map[string]time.Duration{}, registered: map[string]bool{},
	}
	for name, end := range map[string]string{
		"drain": "drain-complete", "flash": "flashed", "return": lifecyclev1alpha1.StateMaintenanceComplete, "return-kep": "MaintenanceComplete",
	} {
		w.transitions[name] = &lifecyclev1alpha1.LifecycleTransition{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: lifecyclev1alpha1.LifecycleTransitionSpec{Driver: name + "-driver", Start: name + "ing", End: end},
		}
	}
	w.crash()
	return w
}

// crash forgets what a controller that restarts does not know.
func (w *world) crash() {
	w.since, w.lost, w.missingSince = w.now, map[string]Sighting{}, map[string]time.Time{}
	for name := range w.transitions {
		w.missingSince[name] = w.now
	}
}

// facts are those of a node, as package central gathers them.
func (w *world) facts(node string) Facts {
	f := Facts{
		NodeName: node, Node: w.nodes[node], CordonedFor: w.cordons[node], Lost: w.lost[node],
		Transitions: w.transitions, Central: w.central, Alone: w.central && len(w.pods) == 0, NodeLeases: w.leases, StrictGuards: w.strict, Since: w.since, FinishedEventTTL: w.ttl,
	}
	if pod := w.pods[node]; pod != nil {
		f.AgentPods = []*corev1.Pod{pod}
	}
	for _, h := range w.holds {
		if h.Spec.NodeName == node {
			f.Holds = append(f.Holds, h)
		}
	}
	for _, e := range w.events {
		if e.Spec.BindingNode == node {
			f.Events, f.OfNode = append(f.Events, e), append(f.OfNode, e)
		} else {
			f.PeerEvents = append(f.PeerEvents, e)
		}
	}
	for name, n := range w.nodes {
		if name != node {
			f.Peers = append(f.Peers, PeerOf(n, len(w.cordons[name]) > 0))
		}
	}
	f.OnlyNode = len(f.Peers) == 0
	f.Fleet, f.Freezes = w.fleet(), w.freezes
	f.Lost = Look(f, w.now)
	w.lost[node] = f.Lost
	return f
}

func (w *world) fleet() Fleet {
	fleet := Fleet{Budgets: w.budgets}
	for _, name := range slices.Sorted(maps.Keys(w.nodes)) {
		holds := slices.DeleteFunc(slices.Clone(w.holds), func(h *hold.Hold) bool { return h.Spec.NodeName != name })
		fleet.Nodes = append(fleet.Nodes, availability.NodeOf(w.nodes[name], holds))
	}
	return fleet
}

// bound are the names of all nodes that there are, or that events are bound to.
func (w *world) bound() []string {
	names := map[string]bool{}
	for name := range w.nodes {
		names[name] = true
	}
	for _, e := range w.events {
		names[e.Spec.BindingNode] = true
	}
	return slices.Sorted(maps.Keys(names))
}

func (w *world) addNode(name string, labels map[string]string, taints ...corev1.Taint) {
	w.nodes[name] = &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels, CreationTimestamp: metav1.NewTime(w.now)},
		Spec:       corev1.NodeSpec{Taints: taints},
	}
	w.setNodeReady(name, true)
}

func (w *world) setNodeReady(name string, ready bool) {
	node := w.nodes[name].DeepCopy()
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: corev1.NodeReady, Status: statusOf(ready), LastTransitionTime: w.kubelets(name),
	}}
	w.nodes[name] = node
}

func (w *world) setAgent(node string, present, ready bool) {
	if !present {
		delete(w.pods, node)
		return
	}
	w.pods[node] = &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "agent-" + node, CreationTimestamp: metav1.NewTime(w.now)},
		Status: corev1.PodStatus{Conditions: []corev1.PodCondition{{
			Type: corev1.PodReady, Status: statusOf(ready), LastTransitionTime: w.kubelets(node),
		}}},
	}
}

// kubelets is the time by the clock of a node.
func (w *world) kubelets(node string) metav1.Time { return metav1.NewTime(w.now.Add(w.skew[node])) }

func statusOf(b bool) corev1.ConditionStatus {
	if b {
		return corev1.ConditionTrue
	}
	return corev1.ConditionFalse
}

func (w *world) addEvent(name, node, transition string) *lifecyclev1alpha1.LifecycleEvent {
	w.serial++
	e := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, w.serial)), Generation: 1,
			CreationTimestamp: metav1.NewTime(w.now.Truncate(time.Second)),
		},
		Spec:   lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node},
		Status: lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending},
	}
	w.events[name] = e
	w.history[e.UID] = []lifecyclev1alpha1.ClaimStatus{lifecyclev1alpha1.Pending}
	return e
}

// claim is what an agent does, or the controller for its drivers.
func (w *world) claim(name string, kind lifecyclev1alpha1.ClaimerKind, sla time.Duration) {
	w.change(w.events[name], func(e *lifecyclev1alpha1.LifecycleEvent) {
		t := w.transitions[e.Spec.TransitionName]
		e.Finalizers = append(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
		e.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: kind, Identity: e.Spec.BindingNode}
		e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: t.Spec.Start, End: t.Spec.End}
		e.Status.State = t.Spec.Start
		if sla > 0 {
			e.Status.SLA = &metav1.Time{Time: w.now.Add(sla)}
		}
	})
}

// claimForeign claims an event, or ends it, as a third-party controller does that knows only the KEP's fields.
func (w *world) claimForeign(name string, phase lifecyclev1alpha1.ClaimStatus) {
	w.change(w.events[name], func(e *lifecyclev1alpha1.LifecycleEvent) {
		if !protected(e) {
			e.Finalizers = append(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
		}
		e.Status.ClaimStatus = phase
	})
}

// touched returns the event that a step writes, lets pass, releases or deletes, or nil.
func touched(step Step) *lifecyclev1alpha1.LifecycleEvent {
	switch s := step.(type) {
	case WriteStatus:
		return s.Event
	case RemoveGate:
		return s.Event
	case TakeHold:
		return s.Event
	case Unprotect:
		return s.Event
	case Delete:
		return s.Event
	default:
		return nil
	}
}

// change replaces the event by a changed copy: facts that were taken stay as they were.
func (w *world) change(e *lifecyclev1alpha1.LifecycleEvent, f func(*lifecyclev1alpha1.LifecycleEvent)) {
	changed := w.events[e.Name].DeepCopy()
	f(changed)
	w.events[e.Name] = changed
	w.outcome[e.UID] = reasonOf(changed, lifecyclev1alpha1.ConditionFinished)
	if h := w.history[e.UID]; h[len(h)-1] != changed.Status.ClaimStatus {
		w.history[e.UID] = append(h, changed.Status.ClaimStatus)
	}
	if changed.DeletionTimestamp != nil && len(changed.Finalizers) == 0 {
		delete(w.events, e.Name)
	}
}

func (w *world) deleteEvent(name string) {
	e, ok := w.events[name]
	switch {
	case !ok:
	case len(e.Finalizers) == 0:
		delete(w.events, name)
	case e.DeletionTimestamp == nil:
		w.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) { e.DeletionTimestamp = &metav1.Time{Time: w.now} })
	}
}

// perform does a step of the controller's.
func (w *world) perform(node string, step Step) {
	if e := touched(step); e != nil && lifecycleevent.HasForeignClaim(e) && e.Annotations == nil {
		panic(fmt.Sprintf("%T of event %s, which a third-party controller has claimed", step, e.Name))
	}
	w.apply(node, step)
	w.lost[node] = w.lost[node].After(step)
}

// apply does a step, of whoever, as the API server would let it be done.
func (w *world) apply(node string, step Step) {
	switch s := step.(type) {
	case WriteStatus:
		w.change(s.Event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status = *s.Status.DeepCopy() })
	case RemoveGate:
		w.change(s.Event, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Spec.Gates = slices.DeleteFunc(e.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool { return g.Name == lifecyclev1alpha1.GateGuards })
			if s.Holds {
				e.Finalizers = append(e.Finalizers, lifecyclev1alpha1.HoldFinalizer)
			}
		})
	case UnprotectHold:
		w.change(s.Event, without(lifecyclev1alpha1.HoldFinalizer))
	case TakeHold:
		h := s.Hold.DeepCopy()
		h.CreationTimestamp = metav1.NewTime(w.now)
		w.holds = append(slices.Clone(w.holds), h)
	case ReleaseHold:
		w.holds = slices.DeleteFunc(slices.Clone(w.holds), func(h *hold.Hold) bool { return h.Name == s.Hold.Name })
	case MarkOverdue:
		w.holds = slices.Clone(w.holds)
		i := slices.IndexFunc(w.holds, func(h *hold.Hold) bool { return h.Name == s.Hold.Name })
		w.holds[i] = w.holds[i].DeepCopy()
		w.holds[i].Labels = map[string]string{slipwayv1alpha1.OverdueLabel: "true"}
		if !s.Overdue {
			w.holds[i].Labels = nil
		}
	case ShowHolders:
		n := w.nodes[node].DeepCopy()
		metav1.SetMetaDataAnnotation(&n.ObjectMeta, hold.HeldBy, s.Text)
		w.nodes[node] = n
	case MarkNode:
		n := w.nodes[node].DeepCopy()
		for _, c := range s.Conditions {
			n.Status.Conditions = slices.DeleteFunc(n.Status.Conditions, func(o corev1.NodeCondition) bool { return o.Type == c.Type })
			n.Status.Conditions = append(n.Status.Conditions, c)
		}
		w.nodes[node] = n
	case Unprotect:
		if s.Uncordon {
			w.cordons[node] = slices.DeleteFunc(slices.Clone(w.cordons[node]), func(uid types.UID) bool { return uid == s.Event.UID })
		}
		w.change(s.Event, without(lifecyclev1alpha1.ClaimProtectionFinalizer))
	case Delete:
		w.deleteEvent(s.Event.Name)
	case MarkTransition:
		t := s.Transition.DeepCopy()
		t.Annotations = map[string]string{lifecyclev1alpha1.RegisteredCentrallyAnnotation: s.Driver}
		if s.Driver == "" {
			t.Annotations = nil
		}
		w.transitions[t.Name] = t
	default:
		panic(fmt.Sprintf("unknown step %T", step))
	}
}

func without(finalizer string) func(*lifecyclev1alpha1.LifecycleEvent) {
	return func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Finalizers = slices.DeleteFunc(e.Finalizers, func(f string) bool { return f == finalizer })
	}
}

// describe is the step as lines of a script.
func describe(step Step) string {
	switch s := step.(type) {
	case WriteStatus:
		text := fmt.Sprintf("%s: %s", s.Event.Name, s.Status.ClaimStatus)
		for _, c := range s.Status.Conditions {
			if old := lifecycleevent.Condition(s.Event, c.Type); old != nil && old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
				continue
			}
			text += strings.TrimRight(fmt.Sprintf("\n  %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message), " ")
		}
		return text
	case RemoveGate:
		return "remove the gate of " + s.Event.Name
	case UnprotectHold:
		return "unprotect the hold of " + s.Event.Name
	case TakeHold:
		text := fmt.Sprintf("hold of %s: %s, %q", s.Event.Name, hold.Actor(s.Hold), s.Hold.Spec.Purpose)
		if s.Hold.Spec.Until != nil {
			text += " until " + s.Hold.Spec.Until.UTC().Format(time.RFC3339)
		}
		return text
	case ReleaseHold:
		text := "release the hold of " + s.Hold.Spec.EventName
		if s.Event != nil {
			text += ", for " + s.Event.Name
		}
		if s.Notice != "" {
			text += "\n  tell: " + s.Notice
		}
		return text
	case MarkOverdue:
		return fmt.Sprintf("mark the hold of %s as overdue: %t", s.Hold.Spec.EventName, s.Overdue)
	case ShowHolders:
		return fmt.Sprintf("show the holders: %q", s.Text)
	case MarkNode:
		c := s.Conditions[0]
		return fmt.Sprintf("mark node %s=%s %s (%s)", c.Type, c.Status, c.Reason, c.Message)
	case Unprotect:
		if s.Uncordon {
			return "uncordon for " + s.Event.Name + ", and unprotect it"
		}
		return "unprotect " + s.Event.Name
	case Delete:
		return "delete " + s.Event.Name
	case MarkTransition:
		return fmt.Sprintf("mark transition %s with %q", s.Transition.Name, s.Driver)
	default:
		return fmt.Sprintf("%T", step)
	}
}

// at is a time as the script counts it, from its beginning.
func (w *world) at(t time.Time) string { return "t+" + t.Sub(w.epoch).String() }
