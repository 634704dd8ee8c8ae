// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// situation is a node with one event that is claimed and under way, its driver registered,
// a minute after we began to look. Tests change what they are about.
type situation struct {
	facts  Facts
	event  *lifecyclev1alpha1.LifecycleEvent
	driver Driver
	call   Call
	now    time.Time
}

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func underWay() *situation {
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
		Name: "e", UID: "e-1", Generation: 1, CreationTimestamp: metav1.NewTime(began),
		Finalizers: []string{lifecyclev1alpha1.ClaimProtectionFinalizer},
	}}
	e.Spec = lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "drain", BindingNode: nodeName}
	e.Status = lifecyclev1alpha1.LifecycleEventStatus{
		ClaimStatus: lifecyclev1alpha1.Claimed, ClaimedBy: new(claimer), State: "a",
		Driver: &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "a", End: "b"},
	}
	s := &situation{event: e, now: began.Add(time.Minute), driver: Driver{Registered: true}}
	s.call = Call{Kind: CallEnd, InFlight: true, Generation: 1, StartedAt: s.now}
	node := newWorld().node
	node.Status.Conditions = []corev1.NodeCondition{lifecycleCondition(e)}
	s.facts = Facts{NodeName: nodeName, Node: node, Claimer: claimer, Since: began}
	s.driverAvailable("True", lifecyclev1alpha1.ReasonDriverRegistered, "")
	return s
}

// ended has the event have ended, and the node not say so yet.
func (s *situation) ended(phase lifecyclev1alpha1.ClaimStatus, reason string) {
	s.event.Status.ClaimStatus = phase
	s.event.Status.Conditions = []metav1.Condition{{
		Type: lifecyclev1alpha1.ConditionFinished, Status: "True", Reason: reason, LastTransitionTime: metav1.NewTime(s.now),
	}}
	s.facts.Node.Status.Conditions = []corev1.NodeCondition{lifecycleCondition(s.event)}
}

// deleted has somebody delete it.
func (s *situation) deleted() { s.event.DeletionTimestamp = &metav1.Time{Time: s.now} }

func (s *situation) unprotected() { s.event.Finalizers = []string{"example.com/theirs"} }

// next is the next step, as a line of a script.
func (s *situation) next() string {
	s.facts.Events = append(s.facts.Events, s.event)
	s.facts.Drivers = func(string) Driver { return s.driver }
	s.facts.Calls = map[types.UID]Call{s.event.UID: s.call}
	d := Next(s.facts, s.now)
	w := &world{epoch: began}
	var said []string
	if d.Step != nil {
		said = append(said, w.describe(d.Step))
	}
	if !d.Wake.IsZero() {
		said = append(said, "until "+w.at(d.Wake))
	}
	return strings.Join(said, "\n")
}

func TestWhatIsNext(t *testing.T) {
	const second, hour = time.Second, time.Hour
	said := func(a Answer) *Answer { return &a }
	for name, tc := range map[string]struct {
		so   func(*situation)
		want string
	}{
		"a driver is at work": {func(*situation) {}, ""},

		// An end state that was reached in time counts, whatever came after it.
		"the end was reached, then the deadline passed": {func(s *situation) {
			s.event.Status.State, s.event.Status.SLA = "b", &metav1.Time{Time: s.now.Add(-second)}
			s.facts.Node.Status.Conditions = []corev1.NodeCondition{lifecycleCondition(s.event)}
		}, "finish e: Succeeded state=b \n  Finished=True Succeeded"},
		"the end was reached, then the event was deleted, which is kept by somebody else": {func(s *situation) {
			s.event.Status.State = "b"
			s.facts.Node.Status.Conditions = []corev1.NodeCondition{lifecycleCondition(s.event)}
			s.deleted()
			s.unprotected()
		}, "finish e: Succeeded state=b \n  Finished=True Succeeded"},
		"the end was reached, then the driver says nonsense": {func(s *situation) {
			s.event.Status.State = "b"
			s.facts.Node.Status.Conditions = []corev1.NodeCondition{lifecycleCondition(s.event)}
			s.call = Call{AnsweredKind: CallEnd, Answer: said(Answer{State: "c"})}
		}, "finish e: Succeeded state=b \n  Finished=True Succeeded"},
		"an event that knows no end has not reached it": {func(s *situation) {
			s.event.Status.State, s.event.Status.Driver = "", nil
			s.call.Kind = CallStart
		}, ""},
		"the finalizer is gone": {func(s *situation) { s.unprotected() }, "protect e"},

		// An event that is over: its driver is told before that is written.
		"the deadline has come": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: s.now}
		}, "call LastEnd for e"},
		"the driver has been told that the deadline has come": {func(s *situation) {
			s.event.Status.SLA, s.call.Kind = &metav1.Time{Time: s.now}, CallLastEnd
		}, "until t+1m10s"},
		"the deadline is not there yet": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: s.now.Add(1)}
		}, "until t+1m0.000000001s"},
		"the deadline passed long before we began to look": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: began.Add(-hour)}
			s.now, s.call.Kind = began.Add(9*second), CallLastEnd
		}, "until t+10s"},
		"the deadline passed, and a driver does not answer for 10 s": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: s.now.Add(-10 * second)}
			s.call.Kind = CallLastEnd
		}, "finish e: SlaExpired state=a \n  Finished=True SlaExpired state \"b\" was not reached by 2026-01-02T03:04:55Z"},
		"the deadline passed, and the driver has just registered as missing": {func(s *situation) {
			s.event.Status.SLA, s.driver = &metav1.Time{Time: s.now}, Driver{MissingSince: s.now}
			s.now, s.facts.Since = s.now.Add(second), s.now
		}, "finish e: SlaExpired state=a \n  Finished=True SlaExpired state \"b\" was not reached by 2026-01-02T03:05:05Z"},
		"the deadline passed, and whether there is a driver we will know in a second": {func(s *situation) {
			s.event.Status.SLA, s.driver = &metav1.Time{Time: s.now}, Driver{Unseen: true}
			s.facts.Since = s.now.Add(-9 * second)
		}, "until t+1m1s"},
		"the deadline passed, and the driver was told before the event was protected, which is never": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: s.now}
			s.unprotected()
		}, "finish e: SlaExpired state=a \n  Finished=True SlaExpired state \"b\" was not reached by 2026-01-02T03:05:05Z"},
		"what the driver said last is not its word on the end": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: s.now.Add(-10 * second)}
			s.call = Call{Kind: CallLastEnd, InFlight: true, AnsweredKind: CallEnd, Answer: said(Answer{
				State: "a", EventConditions: []Condition{{"T", "True", "R", ""}},
			})}
		}, "finish e: SlaExpired state=a \n  Finished=True SlaExpired state \"b\" was not reached by 2026-01-02T03:04:55Z"},
		"the last words of the driver break the contract": {func(s *situation) {
			s.event.Status.SLA = &metav1.Time{Time: s.now}
			s.call = Call{Kind: CallLastEnd, AnsweredKind: CallLastEnd, Answer: said(Answer{
				State: "c", EventConditions: []Condition{{"T", "True", "R", ""}},
			})}
		}, "finish e: SlaExpired state=a \n  Finished=True SlaExpired state \"b\" was not reached by 2026-01-02T03:05:05Z"},
		"the last End failed, and may be tried again in a moment": {func(s *situation) {
			s.ended(lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired)
			s.call = Call{Kind: CallLastEnd, Failures: 1, EndedAt: s.now.Add(1 - second/2)}
		}, "until t+1m0.000000001s"},
		"the last End failed, and may be tried again now": {func(s *situation) {
			s.ended(lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired)
			s.call = Call{Kind: CallLastEnd, Failures: 1, EndedAt: s.now.Add(-second / 2)}
		}, "call LastEnd for e"},
		"it has ended, and whether there is a driver to be told we will know in a second": {func(s *situation) {
			s.ended(lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired)
			s.driver, s.facts.Since = Driver{Unseen: true}, s.now.Add(-9*second)
		}, "until t+1m1s"},
		"it has ended, and a driver has not come for 10 s": {func(s *situation) {
			s.ended(lifecyclev1alpha1.SlaExpired, lifecyclev1alpha1.ReasonSLAExpired)
			s.driver, s.facts.Since = Driver{Unseen: true}, s.now.Add(-10*second)
		}, "unprotect e"},
		"it was ended by hand, and nothing says why": {func(s *situation) {
			s.event.Status.ClaimStatus = lifecyclev1alpha1.Failed
			s.driver.Registered = false
		}, "mark node LifecycleTransition=False  (Lifecycle Transition 'drain')"},
		"its cordon is released only where it was canceled": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed)
		}, "unprotect e"},
		"it was canceled, and its cordon may not yet be shown": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled)
			s.driver.Registered = false
		}, "uncordon for e, and unprotect it"},

		// Calls.
		"a call to Start that came to nothing is made again at once": {func(s *situation) {
			s.event.Status.State, s.call = "", Call{Kind: CallStart, Generation: 1, StartedAt: s.now}
		}, "call Start for e"},
		"the parameters were changed while the driver was asked": {func(s *situation) {
			s.event.Generation = 2
			s.driverAvailable("True", lifecyclev1alpha1.ReasonDriverRegistered, "")
		}, "call End for e"},
		"Start was accepted, and End is asked at once": {func(s *situation) {
			s.call = Call{Kind: CallStart, Generation: 1, StartedAt: s.now, EndedAt: s.now, AnsweredKind: CallStart, Answer: said(Answer{State: "a"})}
		}, "call End for e"},
		"a driver that does not wait was asked 10 s ago": {func(s *situation) {
			s.call = Call{Kind: CallEnd, Generation: 1, StartedAt: s.now.Add(-10 * second), EndedAt: s.now, AnsweredKind: CallEnd, Answer: said(Answer{State: "a"})}
		}, "call End for e"},
		"a driver that does not wait was asked a second ago": {func(s *situation) {
			s.call = Call{Kind: CallEnd, Generation: 1, StartedAt: s.now.Add(-second), EndedAt: s.now, AnsweredKind: CallEnd, Answer: said(Answer{State: "a"})}
		}, "until t+1m9s"},
		"a driver that waits, and answers at once, is asked 10 times a second": {func(s *situation) {
			s.call = Call{Kind: CallEnd, Generation: 1, StartedAt: s.now.Add(-second / 20), EndedAt: s.now, AnsweredKind: CallEnd, Answer: said(Answer{State: "a", Waits: true})}
		}, "until t+1m0.05s"},
		"a driver that waits was asked a tenth of a second ago": {func(s *situation) {
			s.call = Call{Kind: CallEnd, Generation: 1, StartedAt: s.now.Add(-second / 10), EndedAt: s.now, AnsweredKind: CallEnd, Answer: said(Answer{State: "a", Waits: true})}
		}, "call End for e"},
		"a call that the last agent made is not known": {func(s *situation) { s.call = Call{} }, "call End for e"},
		"a call that was lost is made again in 10 s": {func(s *situation) {
			s.call = Call{Kind: CallEnd, Generation: 1, StartedAt: s.now}
		}, "until t+1m10s"},
		"it is for this node, and says so": {func(s *situation) {
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", NodeName: nodeName})
		}, ""},

		// Progress.
		"progress is written 2 s after the last": {func(s *situation) {
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", Progress: &lifecyclev1alpha1.Progress{Done: 1, Total: 2}})
			s.facts.ReportedAt = map[types.UID]time.Time{"e-1": s.now.Add(-2 * second)}
		}, "progress e: Claimed state=a progress=1/2"},
		"progress that is younger waits until then": {func(s *situation) {
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", Progress: &lifecyclev1alpha1.Progress{Done: 1, Total: 2}})
			s.facts.ReportedAt = map[types.UID]time.Time{"e-1": s.now.Add(-second)}
		}, "until t+1m1s"},
		"nothing new is said: nothing has to be written": {func(s *situation) {
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a"})
			s.facts.ReportedAt = map[types.UID]time.Time{"e-1": s.now.Add(-second)}
		}, ""},

		// Whether the driver is there.
		"it failed once: it may yet answer": {func(s *situation) {
			s.driverAvailable("False", lifecyclev1alpha1.ReasonDriverNotReady, "it did not")
			s.call = Call{Kind: CallEnd, Generation: 1, Failures: 1, EndedAt: s.now}
		}, "until t+1m0.5s"},
		"it failed once, and was said to be missing": {func(s *situation) {
			s.driverAvailable("False", lifecyclev1alpha1.ReasonDriverMissing, "it is not there")
			s.call = Call{Kind: CallEnd, Generation: 1, Failures: 1, EndedAt: s.now}
		}, "note e: Claimed state=a \n  DriverAvailable=True DriverRegistered"},
		"it failed again, and says why in other words": {func(s *situation) {
			s.driverAvailable("False", lifecyclev1alpha1.ReasonDriverNotReady, "first words; look at the driver's log")
			s.call = Call{Kind: CallEnd, Generation: 1, Failures: 4, Failure: "other words", EndedAt: s.now}
		}, "until t+1m4s"},
		"it failed once, and nothing was ever said of it": {func(s *situation) {
			s.event.Status.Conditions = nil
			s.call = Call{Kind: CallEnd, Generation: 1, Failures: 1, EndedAt: s.now}
		}, "until t+1m0.5s"},
		"it failed three times, and nothing was ever said of it": {func(s *situation) {
			s.event.Status.Conditions = nil
			s.call = Call{Kind: CallEnd, Generation: 1, Failures: 3, Failure: "busy", EndedAt: s.now}
		}, "note e: Claimed state=a \n  DriverAvailable=False DriverNotReady driver \"d\" does not answer: busy; look at the driver's log"},
		"it answers again": {func(s *situation) {
			s.driverAvailable("False", lifecyclev1alpha1.ReasonDriverNotReady, "it did not")
		}, "note e: Claimed state=a \n  DriverAvailable=True DriverRegistered"},

		// The Node.
		"there is no Node any more": {func(s *situation) { s.facts.Node = nil }, ""},
		"the Node says another status, in the same words": {func(s *situation) {
			s.facts.Node.Status.Conditions[0].Status = corev1.ConditionFalse
		}, "mark node LifecycleTransition=True a (Lifecycle Transition 'drain')"},
		"the driver has words for the Node, too": {func(s *situation) {
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", NodeConditions: []Condition{{"Firmware", "True", "Flashed", "it is new"}}})
		}, "mark node Firmware=True Flashed (it is new)"},
		"only the words for the Node are others, and wait": {func(s *situation) {
			s.nodeSays("Firmware", "True", "Flashed", "it is old", s.now.Add(1-30*second))
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", NodeConditions: []Condition{{"Firmware", "True", "Flashed", "it is new"}}})
		}, "until t+1m0.000000001s"},
		"only the words for the Node are others, for 30 s": {func(s *situation) {
			s.nodeSays("Firmware", "True", "Flashed", "it is old", s.now.Add(-30*second))
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", NodeConditions: []Condition{{"Firmware", "True", "Flashed", "it is new"}}})
		}, "mark node Firmware=True Flashed (it is new)"},
		"another reason is said at once, with the same words": {func(s *situation) {
			s.nodeSays("Firmware", "True", "Flashing", "", s.now)
			s.call.AnsweredKind, s.call.Answer = CallEnd, said(Answer{State: "a", NodeConditions: []Condition{{"Firmware", "True", "Flashed", ""}}})
		}, "mark node Firmware=True Flashed ()"},
		"what a driver that failed says of the Node does not count": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed)
			s.call = Call{Kind: CallEnd, AnsweredKind: CallEnd, Answer: said(Answer{Error: "broken", NodeConditions: []Condition{{"Firmware", "True", "Flashed", ""}}})}
		}, "unprotect e"},
		"the Node shows its drain, which goes on": {func(s *situation) {
			s.nodeSays(corev1.NodeDrainInProgress, "True", "AdminRequested", "event e (UID e-1)", s.now)
		}, ""},

		// After its end.
		"an event that has ended is kept for an hour": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed)
			s.event.Finalizers, s.facts.FinishedEventTTL, s.now = nil, hour, s.now.Add(hour-1)
		}, "until t+1h1m0s"},
		"an event that has ended is deleted after an hour": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed)
			s.event.Finalizers, s.facts.FinishedEventTTL, s.now = nil, hour, s.now.Add(hour)
		}, "delete e"},
		"an event that was ended by hand, without a word, is deleted": {func(s *situation) {
			s.event.Status.ClaimStatus, s.event.Finalizers, s.facts.FinishedEventTTL = lifecyclev1alpha1.Failed, nil, hour
		}, "delete e"},
		"an event that is kept by somebody else is not deleted twice": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed)
			s.unprotected()
			s.deleted()
		}, ""},
		"an event of somebody else's that has ended is theirs": {func(s *situation) {
			s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverFailed)
			s.event.Finalizers, s.event.Status.ClaimedBy = nil, &lifecyclev1alpha1.Claimer{Kind: "Controller", Identity: "c"}
		}, ""},
		"an event of another agent's is theirs": {func(s *situation) {
			s.event.Status.ClaimedBy, s.call = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: "other"}, Call{}
		}, ""},
	} {
		s := underWay()
		tc.so(s)
		if diff := cmp.Diff(tc.want, s.next()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func (s *situation) driverAvailable(status metav1.ConditionStatus, reason, message string) {
	s.event.Status.Conditions = []metav1.Condition{{
		Type: lifecyclev1alpha1.ConditionDriverAvailable, Status: status, Reason: reason, Message: message,
		ObservedGeneration: s.event.Generation, LastTransitionTime: metav1.NewTime(began),
	}}
}

func (s *situation) nodeSays(kind corev1.NodeConditionType, status corev1.ConditionStatus, reason, message string, at time.Time) {
	s.facts.Node.Status.Conditions = append(s.facts.Node.Status.Conditions, corev1.NodeCondition{
		Type: kind, Status: status, Reason: reason, Message: message,
		LastHeartbeatTime: metav1.NewTime(at), LastTransitionTime: metav1.NewTime(at),
	})
}

// Before an event is claimed.
func TestWhatIsNextForAnEventThatWaits(t *testing.T) {
	const check = "check driver d for e"
	for name, tc := range map[string]struct {
		so   func(*situation)
		want string
	}{
		"nothing is in its way":           {func(*situation) {}, check},
		"nobody has written a word of it": {func(s *situation) { s.event.Status = lifecyclev1alpha1.LifecycleEventStatus{} }, check},
		"nobody has written a word of it, and it is gated": {func(s *situation) {
			s.event.Status, s.event.Spec.Gates = lifecyclev1alpha1.LifecycleEventStatus{}, []lifecyclev1alpha1.Gate{{Name: "g"}}
		}, "note e: Pending \n  Claimable=False Gated spec.gates: waiting for g; the owner of each gate removes it from spec.gates"},
		"it came at the time of the move":    {func(s *situation) { s.facts.HomeSince = began }, check},
		"it came after the move":             {func(s *situation) { s.facts.HomeSince = began.Add(-1) }, check},
		"it is deleted, and somebody's kept": {func(s *situation) { s.unprotected(); s.deleted() }, ""},
		"parameters are there": {func(s *situation) {
			s.event.Spec.Parameters = &runtime.RawExtension{Raw: []byte("{}")}
		}, check},
		"another agent has claimed another event": {func(s *situation) {
			s.other(func(o *lifecyclev1alpha1.LifecycleEvent) {})
		}, "note e: Pending \n  Claimable=False WaitingForTurn another event of this node comes first; wait for the other event, or delete the one of the two that is not wanted"},
		"another agent's event has ended, and is not wound up": {func(s *situation) {
			s.other(func(o *lifecyclev1alpha1.LifecycleEvent) { o.Status.ClaimStatus = lifecyclev1alpha1.Failed })
		}, "note e: Pending \n  Claimable=False WaitingForTurn another event of this node comes first; wait for the other event, or delete the one of the two that is not wanted"},
		"another agent's event has ended, and is wound up": {func(s *situation) {
			s.other(func(o *lifecyclev1alpha1.LifecycleEvent) {
				o.Status.ClaimStatus, o.Finalizers = lifecyclev1alpha1.Failed, nil
			})
		}, check},
		"an older event waits for an answer of the same driver": {func(s *situation) {
			s.other(func(o *lifecyclev1alpha1.LifecycleEvent) {
				o.Status = lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending}
				o.CreationTimestamp = metav1.NewTime(began.Add(-time.Second))
			})
			s.driver = Driver{Registered: true, Checking: "o-1", CheckingSince: s.now}
		}, "note e: Pending \n  Claimable=False WaitingForTurn another event of this node comes first; wait for the other event, or delete the one of the two that is not wanted\nuntil t+1m1s"},
		"another event has the finalizer, and waits too": {func(s *situation) {
			s.other(func(o *lifecyclev1alpha1.LifecycleEvent) {
				o.Status.ClaimStatus, o.Spec.Gates = lifecyclev1alpha1.Pending, []lifecyclev1alpha1.Gate{{Name: "g"}}
				o.Status.Conditions = []metav1.Condition{{
					Type: "Claimable", Status: "False", Reason: "Gated", Message: "spec.gates: waiting for g; the owner of each gate removes it from spec.gates",
				}}
			})
		}, check},
	} {
		s := underWay()
		s.event.Finalizers, s.call = nil, Call{}
		s.event.Status = lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending}
		s.facts.Transitions = map[string]*lifecyclev1alpha1.LifecycleTransition{"drain": lct("d", "a", "b")}
		tc.so(s)
		if diff := cmp.Diff(tc.want, s.next()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// other is a second event, which another agent has claimed.
func (s *situation) other(change func(*lifecyclev1alpha1.LifecycleEvent)) {
	o := underWay().event
	o.Name, o.UID = "o", "o-1"
	o.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: "Controller", Identity: "c"}
	change(o)
	s.facts.Events = append(s.facts.Events, o)
}

func TestWhichEventIsWorkedOn(t *testing.T) {
	at := func(name string, second int64, phase lifecyclev1alpha1.ClaimStatus, finalizers ...string) *lifecyclev1alpha1.LifecycleEvent {
		e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{
			Name: name, CreationTimestamp: metav1.Unix(second, 0), Finalizers: finalizers,
		}}
		e.Status = lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: phase, ClaimedBy: new(claimer)}
		return e
	}
	const ours = lifecyclev1alpha1.ClaimProtectionFinalizer
	for name, tc := range map[string]struct {
		events []*lifecyclev1alpha1.LifecycleEvent
		want   string
	}{
		"the older one of two":     {[]*lifecyclev1alpha1.LifecycleEvent{at("a", 2, "Claimed"), at("b", 1, "Claimed")}, "b"},
		"of one age, by name":      {[]*lifecyclev1alpha1.LifecycleEvent{at("b", 1, "Claimed"), at("a", 1, "Claimed")}, "a"},
		"one that has ended":       {[]*lifecyclev1alpha1.LifecycleEvent{at("a", 1, "Claimed", ours), at("b", 2, "Failed", ours)}, "b"},
		"one that is not wound up": {[]*lifecyclev1alpha1.LifecycleEvent{at("a", 1, "Failed"), at("b", 2, "Claimed", ours)}, "b"},
		"one that is claimed":      {[]*lifecyclev1alpha1.LifecycleEvent{at("a", 1, "Pending"), at("b", 2, "Claimed")}, "b"},
	} {
		if got := inWork(&Facts{Claimer: claimer}, lifecycleevent.OldestFirst(tc.events)); got == nil || got.Name != tc.want {
			t.Errorf("%s: got %v; want %s", name, got, tc.want)
		}
	}
}

// The second one still has a driver that has to be told.
func TestOfTwoEventsThatHaveEndedTheFirstIsWoundUp(t *testing.T) {
	s := underWay()
	s.ended(lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonCanceled)
	second := s.event.DeepCopy()
	second.Name, second.UID = "f", "f-1"
	s.facts.Events = append(s.facts.Events, second)
	s.call = Call{Kind: CallLastEnd, InFlight: true}
	if got := s.next(); got != "" {
		t.Errorf("got %q; want nothing before the driver has answered", got)
	}
}

// Of drains, only what somebody else wrote after the claim keeps the event from saying more.
func TestWhoseWordOnADrainCounts(t *testing.T) {
	claim := began
	for name, tc := range map[string]struct {
		so   func(*lifecyclev1alpha1.LifecycleEvent, *corev1.NodeCondition)
		want bool
	}{
		"somebody wrote it later": {func(_ *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastHeartbeatTime = metav1.NewTime(claim.Add(1))
		}, true},
		"somebody wrote it later, without a heartbeat": {func(_ *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastTransitionTime = metav1.NewTime(claim.Add(1))
		}, true},
		"somebody wrote it at the same time": {func(_ *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastHeartbeatTime, c.LastTransitionTime = metav1.NewTime(claim), metav1.NewTime(claim)
		}, false},
		"it was there before": {func(*lifecyclev1alpha1.LifecycleEvent, *corev1.NodeCondition) {}, false},
		"an event of ours wrote it": {func(_ *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastHeartbeatTime, c.Message = metav1.NewTime(claim.Add(1)), "event o (UID o-1)"
		}, false},
		"the event has reached its end": {func(e *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastHeartbeatTime, e.Status.State = metav1.NewTime(claim.Add(1)), "b"
		}, false},
		"nobody knows since when it is claimed": {func(e *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastHeartbeatTime, e.Status.Conditions = metav1.NewTime(claim.Add(1)), nil
		}, false},
		"it is another condition": {func(_ *lifecyclev1alpha1.LifecycleEvent, c *corev1.NodeCondition) {
			c.LastHeartbeatTime, c.Type = metav1.NewTime(claim.Add(1)), corev1.NodeDrained
		}, false},
	} {
		e := underWay().event
		e.Status.Conditions = []metav1.Condition{{Type: lifecyclev1alpha1.ConditionClaimable, Status: "True", LastTransitionTime: metav1.NewTime(claim)}}
		c := corev1.NodeCondition{Type: corev1.NodeDrainInProgress, Status: "True", Message: "kubectl"}
		tc.so(e, &c)
		node := &corev1.Node{Status: corev1.NodeStatus{Conditions: []corev1.NodeCondition{c}}}
		if got := takenOver(node, corev1.NodeDrainInProgress, e); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestATransitionIsForgottenByItsNodesAgentOnly(t *testing.T) {
	for name, tc := range map[string]struct {
		so   func(*situation, *lifecyclev1alpha1.LifecycleTransition)
		want string
	}{
		"its driver is gone for 30 s": {func(*situation, *lifecyclev1alpha1.LifecycleTransition) {}, "delete transition mine"},
		"its driver is gone for less": {func(s *situation, _ *lifecyclev1alpha1.LifecycleTransition) { s.now = s.now.Add(-1) }, "until t+1m0s"},
		"its driver is there":         {func(s *situation, _ *lifecyclev1alpha1.LifecycleTransition) { s.driver.Registered = true }, ""},
		"it is another node's":        {func(_ *situation, t *lifecyclev1alpha1.LifecycleTransition) { t.Spec.NodeName = "other" }, ""},
		"it is being deleted":         {func(_ *situation, t *lifecyclev1alpha1.LifecycleTransition) { t.DeletionTimestamp = &metav1.Time{} }, ""},
		"the controller has its node": {func(s *situation, _ *lifecyclev1alpha1.LifecycleTransition) {
			s.facts.Claimer, s.facts.Central = controller, &Central{Alone: true, Agentless: true}
		}, ""},
		"its driver serves it from the controller": {func(_ *situation, t *lifecyclev1alpha1.LifecycleTransition) {
			t.Annotations = map[string]string{lifecyclev1alpha1.RegisteredCentrallyAnnotation: "d"}
		}, ""},
	} {
		s := underWay()
		s.event.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: "Somebody", Identity: "else"}
		s.driver = Driver{MissingSince: s.now.Add(-30 * time.Second)}
		mine := lct("d", "a", "b")
		mine.Name, mine.Spec.NodeName = "mine", nodeName
		tc.so(s, mine)
		s.facts.Transitions = map[string]*lifecyclev1alpha1.LifecycleTransition{"mine": mine}
		if diff := cmp.Diff(tc.want, s.next()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}
