// SPDX-License-Identifier: Apache-2.0

package transition

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
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// world is what Next's facts are taken from and its steps are done to: an API
// server's objects, which survive a crash, and an agent's memory, which does not.
type world struct {
	now, epoch  time.Time
	node        *corev1.Node
	events      map[string]*lifecyclev1alpha1.LifecycleEvent
	transitions map[string]*lifecyclev1alpha1.LifecycleTransition
	homeSince   time.Time
	ttl         time.Duration

	central *Central // nil: we are the agent
	native  bool     // the API server serves LifecycleEvents itself

	registered map[string]bool
	silent     map[string]bool // registered, but does not answer

	// the agent's memory
	missingSince map[string]time.Time
	checking     map[string]types.UID
	checkedAt    map[string]time.Time
	calls        map[types.UID]Call
	reportedAt   map[types.UID]time.Time

	// history is each claim status that an event has had, by UID.
	history map[types.UID][]lifecyclev1alpha1.ClaimStatus
}

const nodeName = "worker-1"

var claimer = lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: nodeName}

var controller = lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: "slipway-controller"}

func newWorld() *world {
	epoch := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := &world{
		now: epoch, epoch: epoch,
		node: &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: nodeName, Labels: map[string]string{"pool": "blue"}}, Spec: corev1.NodeSpec{Unschedulable: true},
		},
		events:      map[string]*lifecyclev1alpha1.LifecycleEvent{},
		transitions: map[string]*lifecyclev1alpha1.LifecycleTransition{},
		registered:  map[string]bool{},
		silent:      map[string]bool{},
		history:     map[types.UID][]lifecyclev1alpha1.ClaimStatus{},
	}
	w.crash()
	return w
}

// crash forgets what an agent that restarts does not know.
func (w *world) crash() {
	w.missingSince = map[string]time.Time{}
	w.checking = map[string]types.UID{}
	w.checkedAt = map[string]time.Time{}
	w.calls = map[types.UID]Call{}
	w.reportedAt = map[types.UID]time.Time{}
	w.missingSince["*"] = w.now
}

func (w *world) facts() Facts {
	return Facts{
		NodeName: nodeName, Node: w.node, Claimer: w.claimer(), Central: w.central,
		Since:  w.missingSince["*"],
		Events: slices.Collect(maps.Values(w.events)), Transitions: w.transitions,
		Drivers: w.driver, Calls: w.calls, ReportedAt: w.reportedAt,
		HomeSince: w.homeSince, FinishedEventTTL: w.ttl, Native: w.native,
	}
}

func (w *world) claimer() lifecyclev1alpha1.Claimer {
	if w.central != nil {
		return controller
	}
	return claimer
}

// markCentral records on the driver's transitions that it is registered with the controller, or that it is not.
func (w *world) markCentral(driver string, registered bool) {
	for name, t := range w.transitions {
		if t.Spec.Driver == driver {
			t = t.DeepCopy()
			delete(t.Annotations, lifecyclev1alpha1.RegisteredCentrallyAnnotation)
			if registered {
				metav1.SetMetaDataAnnotation(&t.ObjectMeta, lifecyclev1alpha1.RegisteredCentrallyAnnotation, driver)
			}
			w.transitions[name] = t
		}
	}
}

// otherClaimer is the other claimer of the node.
func (w *world) otherClaimer() lifecyclev1alpha1.Claimer {
	if w.central != nil {
		return claimer
	}
	return controller
}

// claimBy claims an event for one of the two claimers, which then protects the event, waits, or ends it.
func (w *world) claimBy(by lifecyclev1alpha1.Claimer, name, then string) {
	if then == "gone" {
		delete(w.events, name)
		return
	}
	w.change(w.events[name], func(e *lifecyclev1alpha1.LifecycleEvent) {
		driver := w.transitions[e.Spec.TransitionName].Spec
		e.Status.ClaimStatus, e.Status.ClaimedBy = lifecyclev1alpha1.Claimed, &by
		e.Status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: driver.Driver, Start: driver.Start, End: driver.End}
		reason := lifecyclev1alpha1.ReasonClaimed
		switch then {
		case "protects":
			e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
		case "waits":
			reason = lifecyclev1alpha1.ReasonLeavesTurn
		}
		lifecycleevent.SetCondition(&e.Status, e, lifecyclev1alpha1.ConditionClaimable, metav1.ConditionTrue, reason, "", w.now)
	})
}

func (w *world) driver(name string) Driver {
	since, seen := w.missingSince[name]
	if !seen {
		since = w.missingSince["*"]
	}
	return Driver{
		Registered: w.registered[name], MissingSince: since, Unseen: !seen && !w.registered[name],
		Checking: w.checking[name], CheckingSince: w.checkedAt[name],
		Ready: w.registered[name] && !w.silent[name],
	}
}

// addEvent is what a user's create does.
func (w *world) addEvent(name, transition string) *lifecyclev1alpha1.LifecycleEvent {
	e := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(fmt.Sprintf("%s-%d", name, len(w.history))), Generation: 1,
			CreationTimestamp: metav1.NewTime(w.now.Truncate(time.Second)),
		},
		Spec:   lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: nodeName},
		Status: lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending},
	}
	w.events[name] = e
	w.history[e.UID] = []lifecyclev1alpha1.ClaimStatus{lifecyclev1alpha1.Pending}
	return e
}

// deleteEvent is what a user's delete does.
func (w *world) deleteEvent(name string) {
	e, ok := w.events[name]
	if !ok {
		return
	}
	if len(e.Finalizers) == 0 {
		delete(w.events, name)
		return
	}
	if e.DeletionTimestamp == nil {
		w.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.DeletionTimestamp = &metav1.Time{Time: w.now.Truncate(time.Second)}
		})
	}
}

// claimForeign claims an event, or ends it, as a third-party controller does that knows only the KEP's fields.
func (w *world) claimForeign(name string, phase lifecyclev1alpha1.ClaimStatus) {
	w.change(w.events[name], func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
		e.Status.ClaimStatus = phase
		w.history[e.UID] = append(w.history[e.UID], phase)
	})
}

// touched returns the event that a step writes, releases, deletes or drives, or nil.
func touched(step Step) *lifecyclev1alpha1.LifecycleEvent {
	switch s := step.(type) {
	case WriteStatus:
		return s.Event
	case Protect:
		return s.Event
	case Unprotect:
		return s.Event
	case Delete:
		return s.Event
	case CallDriver:
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
	if changed.DeletionTimestamp != nil && len(changed.Finalizers) == 0 {
		delete(w.events, e.Name)
	}
}

// perform does the step, as the API server and the drivers would let it be done.
func (w *world) perform(step Step) {
	if e := touched(step); e != nil && lifecycleevent.HasForeignClaim(e) {
		panic(fmt.Sprintf("%T of event %s, which a third-party controller has claimed", step, e.Name))
	}
	switch s := step.(type) {
	case WriteStatus:
		w.change(s.Event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Status = *s.Status.DeepCopy() })
		if h := w.history[s.Event.UID]; h[len(h)-1] != s.Status.ClaimStatus {
			w.history[s.Event.UID] = append(h, s.Status.ClaimStatus)
		}
		if s.Purpose == PurposeProgress || s.Purpose == PurposeState {
			w.reportedAt[s.Event.UID] = w.now
		}
	case Protect:
		w.change(s.Event, func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Finalizers = append(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
		})
	case Unprotect:
		w.change(s.Event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Finalizers = nil })
	case Delete:
		w.deleteEvent(s.Event.Name)
	case CheckDriver:
		w.checking[s.Driver], w.checkedAt[s.Driver] = s.Event.UID, w.now
	case CallDriver:
		call := w.calls[s.Event.UID]
		call.Kind, call.InFlight, call.Generation, call.StartedAt = s.Kind, true, s.Event.Generation, w.now
		w.calls[s.Event.UID] = call
	case MarkNode:
		w.mark(s.Conditions...)
	case DeleteTransition:
		delete(w.transitions, s.Transition.Name)
	default:
		panic(fmt.Sprintf("unknown step %T", step))
	}
}

// mark writes conditions of the Node.
func (w *world) mark(conditions ...corev1.NodeCondition) {
	w.node = w.node.DeepCopy()
	for _, c := range conditions {
		w.node.Status.Conditions = slices.DeleteFunc(w.node.Status.Conditions,
			func(o corev1.NodeCondition) bool { return o.Type == c.Type })
		w.node.Status.Conditions = append(w.node.Status.Conditions, c)
	}
}

// others is what kubectl does.
func (w *world) others(c Condition) {
	w.mark(corev1.NodeCondition{
		Type: corev1.NodeConditionType(c.Type), Status: corev1.ConditionStatus(c.Status), Reason: c.Reason, Message: c.Message,
		LastHeartbeatTime: metav1.NewTime(w.now), LastTransitionTime: metav1.NewTime(w.now),
	})
}

// answer is what a driver says to the call in flight.
func (w *world) answer(uid types.UID, a Answer) {
	call := w.calls[uid]
	a.Generation = call.Generation
	call.InFlight, call.EndedAt, call.Failures = false, w.now, 0
	call.Answer, call.AnsweredKind = &a, call.Kind
	w.calls[uid] = call
}

// fail is a call that ended with "ask again".
func (w *world) fail(uid types.UID) {
	call := w.calls[uid]
	call.InFlight, call.EndedAt, call.Failures, call.Failure = false, w.now, call.Failures+1, fmt.Sprintf("try %d: unavailable", call.Failures+1)
	w.calls[uid] = call
}

// setDriver registers or deregisters a driver.
func (w *world) setDriver(name string, registered, silent bool) {
	if w.registered[name] && !registered {
		w.missingSince[name] = w.now
	}
	w.registered[name], w.silent[name] = registered, silent
	delete(w.checking, name)
}

// describe is the step as one line of a script.
func (w *world) describe(step Step) string {
	switch s := step.(type) {
	case WriteStatus:
		return strings.TrimSpace(fmt.Sprintf("%s %s: %s", s.Purpose, s.Event.Name, w.describeStatus(s)))
	case Protect:
		return "protect " + s.Event.Name
	case Unprotect:
		if s.Uncordon {
			return "uncordon for " + s.Event.Name + ", and unprotect it"
		}
		return "unprotect " + s.Event.Name
	case Delete:
		return "delete " + s.Event.Name
	case CheckDriver:
		return fmt.Sprintf("check driver %s for %s", s.Driver, s.Event.Name)
	case CallDriver:
		return fmt.Sprintf("call %s for %s", s.Kind, s.Event.Name)
	case MarkNode:
		lines := make([]string, len(s.Conditions))
		for i, c := range s.Conditions {
			lines[i] = fmt.Sprintf("mark node %s=%s %s (%s)", c.Type, c.Status, c.Reason, c.Message)
			if ofDrain(c.Type) {
				lines[i] += " since " + w.at(c.LastTransitionTime.Time)
			}
		}
		return strings.Join(lines, "\n")
	case DeleteTransition:
		return "delete transition " + s.Transition.Name
	default:
		return fmt.Sprintf("%T", step)
	}
}

func (w *world) describeStatus(s WriteStatus) string {
	parts := []string{string(s.Status.ClaimStatus)}
	if s.Status.State != "" {
		parts = append(parts, "state="+s.Status.State)
	}
	if s.Purpose == PurposeClaim && s.Status.SLA != nil {
		parts = append(parts, "deadline="+w.at(s.Status.SLA.Time))
	}
	if s.Status.Progress != nil {
		parts = append(parts, "progress="+s.Status.Progress.Summary)
	}
	for _, c := range s.Status.Conditions {
		if old := lifecycleevent.Condition(s.Event, c.Type); old != nil && old.Status == c.Status && old.Reason == c.Reason && old.Message == c.Message {
			continue
		}
		parts = append(parts, fmt.Sprintf("\n  %s=%s %s %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.TrimRight(strings.Join(parts, " "), " ")
}

// at is a time as the script counts it, from its beginning.
func (w *world) at(t time.Time) string { return "t+" + t.Sub(w.epoch).String() }
