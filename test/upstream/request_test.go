// SPDX-License-Identifier: Apache-2.0

package upstream

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

var now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

const (
	active      = evictionv1alpha1.ResponderStateActive
	inactive    = evictionv1alpha1.ResponderStateInactive
	completed   = evictionv1alpha1.ResponderStateCompleted
	interrupted = evictionv1alpha1.ResponderStateInterrupted
	canceled    = evictionv1alpha1.ResponderStateCanceled

	// The priorities of upstream's responders a, b and of the last responder descend in this order.
	responderA, responderB, last = "responder.example.com/a", "responder.example.com/b", evictionrequest.Evictor

	evicted, failed = string(evictionv1alpha1.EvictionConditionTargetEvicted), string(evictionv1alpha1.EvictionConditionFailed)
)

// turn is a responder of an Eviction.
type turn struct {
	name  string
	state evictionv1alpha1.ResponderStateType
	// started and beat are ages of the start and of the last heartbeat; zero: none.
	started, beat time.Duration
	done          bool
}

// begun is an active responder that has just started.
func begun(name string) turn { return turn{name: name, state: active, started: time.Second} }

// ready is an active responder that has reported its completion.
func ready(name string) turn {
	return turn{name: name, state: active, started: time.Second, done: true}
}

func is(name string, state evictionv1alpha1.ResponderStateType) turn {
	return turn{name: name, state: state, started: time.Minute, done: state == completed}
}

func waits(name string) turn { return turn{name: name, state: inactive} }

// eviction is an Eviction of pod foo with these responders.
func eviction(turns ...turn) *evictionv1alpha1.Eviction {
	e := named("pod-1-foo")
	e.Status.ObservedGeneration = new(int64(1))
	for i, r := range turns {
		own := evictionv1alpha1.ResponderStatus{Name: r.name}
		if r.started > 0 {
			own.StartTime = &metav1.Time{Time: now.Add(-r.started)}
		}
		if r.beat > 0 {
			own.HeartbeatTime = &metav1.Time{Time: now.Add(-r.beat)}
		}
		if r.done {
			own.CompletionTime = &metav1.Time{Time: now}
		}
		e.Status.Responders = append(e.Status.Responders, own)
		e.Status.TargetResponders = append(e.Status.TargetResponders, evictionv1alpha1.TargetResponder{Name: r.name, Priority: new(int32(5000 - i)), State: r.state})
	}
	return e
}

func named(name string) *evictionv1alpha1.Eviction {
	e := &evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Generation: 1, CreationTimestamp: metav1.Time{Time: now}}}
	e.Spec.Target.Pod = &evictionv1alpha1.EvictionPodReference{Name: "foo", UID: "uid-1"}
	return e
}

// ended sets a condition, at an age.
func ended(e *evictionv1alpha1.Eviction, condition string, reason evictionv1alpha1.EvictionConditionReason, age time.Duration) *evictionv1alpha1.Eviction {
	e.Status.Conditions = []metav1.Condition{{Type: condition, Status: metav1.ConditionTrue, Reason: string(reason), LastTransitionTime: metav1.Time{Time: now.Add(-age)}}}
	return e
}

// facts are those of pod foo with one request, and these Evictions.
func facts(evictions ...*evictionv1alpha1.Eviction) evictionrequest.Facts {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "foo", UID: "uid-1"}}
	r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "r", UID: "r", Generation: 1}}
	r.Spec.Requester, r.Spec.Intent = "foo.example.com/1", evictionv1alpha1.EvictionRequestIntentEviction
	r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: pod.Name, UID: pod.UID}
	return evictionrequest.Facts{
		Target: evictionrequest.Target{Namespace: "ns", Name: pod.Name, UID: pod.UID}, Pod: pod, Confirmed: true, RequestsConfirmed: true,
		Requests: []*evictionv1alpha1.EvictionRequest{r}, Evictions: evictions,
	}
}

func gone(ago time.Duration) func(*evictionrequest.Facts) {
	return func(f *evictionrequest.Facts) { f.Pod, f.Ended = nil, now.Add(-ago) }
}

func terminal(ago time.Duration) func(*evictionrequest.Facts) {
	return func(f *evictionrequest.Facts) { f.Pod.Status.Phase, f.Ended = corev1.PodSucceeded, now.Add(-ago) }
}

func withdrawn(f *evictionrequest.Facts) {
	f.Requests[0].Spec.Intent = evictionv1alpha1.EvictionRequestIntentWithdrawn
}

// settle performs the steps on an Eviction until none is left, and returns its status and the time of the next decision.
func settle(t *testing.T, f evictionrequest.Facts) (evictionv1alpha1.EvictionStatus, time.Duration) {
	t.Helper()
	e := f.Evictions[0]
	for range 10 {
		d := evictionrequest.Next(f, now)
		switch s := d.Step.(type) {
		case evictionrequest.Adopt:
			e.Labels, e.OwnerReferences = s.Labels, s.Owners
		case evictionrequest.WriteEviction:
			e.Status = s.Status
		case evictionrequest.WriteRequest:
			s.Request.Status = s.Status
		case nil:
			if d.Wake.IsZero() {
				return e.Status, 0
			}
			return e.Status, d.Wake.Sub(now)
		default:
			return e.Status, 0 // about another Eviction
		}
	}
	t.Fatal("the decisions do not settle")
	return e.Status, 0
}

func states(s evictionv1alpha1.EvictionStatus) string {
	var all []string
	for _, r := range evictionrequest.InTurn(s.TargetResponders) {
		all = append(all, r.Name[strings.LastIndex(r.Name, "/")+1:]+" "+string(r.State))
	}
	return strings.Join(all, ", ")
}

func TestComputeResponderProgression(t *testing.T) {
	const deadline = 20 * time.Minute
	for name, tc := range map[string]struct {
		turns  []turn
		so     func(*evictionrequest.Facts)
		want   string
		resync time.Duration
	}{
		"activate the second one":           {[]turn{ready(responderA), waits(responderB), waits(last)}, nil, "a Completed, b Active, evictor Inactive", deadline},
		"activate the third one":            {[]turn{is(responderA, completed), ready(responderB), waits(last)}, nil, "a Completed, b Completed, evictor Active", deadline},
		"complete the third one":            {[]turn{is(responderA, completed), is(responderB, completed), ready(last)}, nil, "a Completed, b Completed, evictor Completed", 0},
		"no change after completion":        {[]turn{is(responderA, completed), is(responderB, completed), is(last, completed)}, nil, "a Completed, b Completed, evictor Completed", 0},
		"no change after last interruption": {[]turn{is(responderA, completed), is(responderB, completed), is(last, interrupted)}, nil, "a Completed, b Completed, evictor Interrupted", 0},
		"no change after last cancellation": {[]turn{is(responderA, completed), is(responderB, completed), is(last, canceled)}, nil, "a Completed, b Completed, evictor Canceled", 0},
		"reschedule resync according to the start time": {
			[]turn{{name: responderA, state: active, started: time.Minute}, waits(responderB)}, nil, "a Active, b Inactive", deadline - time.Minute,
		},
		"reschedule resync according to the heartbeat time": {
			[]turn{{name: responderA, state: active, started: 25 * time.Minute, beat: 2 * time.Minute}, waits(responderB)}, nil, "a Active, b Inactive", deadline - 2*time.Minute,
		},
		"interrupt the first after the heartbeat has elapsed and activate the second one": {
			[]turn{{name: responderA, state: active, started: 25 * time.Minute, beat: 20 * time.Minute}, waits(responderB)}, nil, "a Interrupted, b Active", deadline,
		},
		"interrupt the first after the heartbeat (start time fallback) has elapsed and activate the second one": {
			[]turn{{name: responderA, state: active, started: 21 * time.Minute}, waits(responderB)}, nil, "a Interrupted, b Active", deadline,
		},
		"complete after the target is gone":                              {[]turn{ready(responderA), waits(responderB)}, gone(0), "a Completed, b Inactive", 0},
		"complete after the target is terminal with completion time set": {[]turn{ready(responderA), waits(responderB)}, terminal(0), "a Completed, b Inactive", 0},
		"interrupt after the target is gone without completion time set": {[]turn{begun(responderA), waits(responderB)}, gone(5 * time.Second), "a Interrupted, b Inactive", 0},
		"interrupt after the target is terminal without completion time set": {
			[]turn{begun(responderA), waits(responderB)}, terminal(6 * time.Second), "a Interrupted, b Inactive", 0,
		},
		"wait for completionTime after the target is terminal": {[]turn{begun(responderA), waits(responderB)}, terminal(4 * time.Second), "a Active, b Inactive", time.Second},
		"cancel active responder":                              {[]turn{begun(responderA), waits(responderB)}, withdrawn, "a Canceled, b Inactive", 0},
		"cancel non active responder":                          {[]turn{waits(responderA), waits(responderB)}, withdrawn, "a Inactive, b Inactive", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(eviction(tc.turns...))
			if tc.so != nil {
				tc.so(&f)
			}
			status, resync := settle(t, f)
			if got := states(status); got != tc.want || resync != tc.resync {
				t.Errorf("got %s, again after %s; upstream: %s, %s", got, resync, tc.want, tc.resync)
			}
		})
	}
}

func TestGetOrInitializeTargetResponders(t *testing.T) {
	for name, tc := range map[string]struct {
		of   *evictionv1alpha1.Eviction
		pod  []corev1.EvictionResponder
		want string
	}{
		"pod with responders + default ones": {
			named("pod-1-foo"),
			[]corev1.EvictionResponder{{Name: responderA, Priority: new(int32(1000))}, {Name: responderB, Priority: new(int32(15000))}},
			"b 15000, a 1000, evictor 100",
		},
		"pod with just default responders": {named("pod-1-foo"), nil, "evictor 100"},
		"pod with responders + default ones changed, but copied from the last status instead": {
			eviction(begun("foo.example.com/bar"), waits("foo.example.com/baz")), []corev1.EvictionResponder{{Name: responderA, Priority: new(int32(1000))}}, "bar 5000, baz 4999",
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(tc.of)
			f.Pod.Spec.EvictionResponders = tc.pod
			status, _ := settle(t, f)
			var got []string
			for _, r := range evictionrequest.InTurn(status.TargetResponders) {
				got = append(got, fmt.Sprintf("%s %d", r.Name[strings.LastIndex(r.Name, "/")+1:], *r.Priority))
			}
			if text := strings.Join(got, ", "); text != tc.want {
				t.Errorf("got %s; upstream: %s", text, tc.want)
			}
		})
	}
}

func TestComputeEvictionConditions(t *testing.T) {
	for name, tc := range map[string]struct {
		turns []turn
		so    func(*evictionrequest.Facts)
		want  string
	}{
		"pod deleted":            {[]turn{ready(last)}, gone(0), "TargetEvicted True PodDeleted, Failed False Succeeded"},
		"pod deleted - waiting":  {[]turn{begun(last)}, gone(0), "TargetEvicted  , Failed  "},
		"pod terminal":           {[]turn{ready(last)}, terminal(0), "TargetEvicted True PodTerminal, Failed False Succeeded"},
		"pod terminal - waiting": {[]turn{begun(last)}, terminal(0), "TargetEvicted  , Failed  "},
		"canceled":               {[]turn{begun(last)}, withdrawn, "TargetEvicted False EvictionFailed, Failed True CanceledDueToNoRequesters"},
		"no progress":            {[]turn{ready(last)}, nil, "TargetEvicted False EvictionFailed, Failed True NoFurtherResponder"},
		"pending":                {nil, nil, "TargetEvicted False AwaitingEviction, Failed False AwaitingEviction"},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts(eviction(tc.turns...))
			if tc.so != nil {
				tc.so(&f)
			}
			status, _ := settle(t, f)
			if got := conditions(status.Conditions); got != tc.want {
				t.Errorf("got %s; upstream: %s", got, tc.want)
			}
		})
	}
}

// conditions returns both conditions; an Eviction that waits keeps those that it had.
func conditions(all []metav1.Condition) string {
	var texts []string
	for _, name := range []string{evicted, failed} {
		c := apimeta.FindStatusCondition(all, name)
		if c == nil {
			c = &metav1.Condition{}
		}
		texts = append(texts, fmt.Sprintf("%s %s %s", name, c.Status, c.Reason))
	}
	return strings.Join(texts, ", ")
}

func TestNewEvictionName(t *testing.T) {
	for name, tc := range map[string]struct {
		pod   string
		taken []string
		want  string
	}{
		"picks first name":            {"foo", nil, "pod-1-foo"},
		"picks the next name":         {"foo", []string{"pod-0-foo", "pod-1-foo", "pod-3-foo", "pod-4-foo", "pod-7-foo"}, "pod-8-foo"},
		"too long name":               {strings.Repeat("a", 253), nil, "pod-1-" + strings.Repeat("a", 247)},
		"too long name with eviction": {strings.Repeat("a", 252) + "b", []string{"pod-1-" + strings.Repeat("a", 247)}, "pod-2-" + strings.Repeat("a", 247)},
	} {
		t.Run(name, func(t *testing.T) {
			f := facts()
			f.Target.Name, f.Pod.Name, f.Taken = tc.pod, tc.pod, tc.taken
			step, _ := evictionrequest.Next(f, now).Step.(evictionrequest.Create)
			if step.Eviction == nil || step.Eviction.Name != tc.want {
				t.Errorf("got %v; upstream: %s", step.Eviction, tc.want)
			}
		})
	}
}

func TestFindRelevantEviction(t *testing.T) {
	noFurther := func(name string, age time.Duration) *evictionv1alpha1.Eviction {
		return ended(named(name), failed, evictionv1alpha1.EvictionConditionReasonNoFurtherResponder, age)
	}
	aged := func(e *evictionv1alpha1.Eviction, age time.Duration) *evictionv1alpha1.Eviction {
		e.CreationTimestamp = metav1.Time{Time: now.Add(-age)}
		return e
	}
	for name, tc := range map[string]struct {
		all  []*evictionv1alpha1.Eviction
		want string
	}{
		"no evictions":           {nil, "create pod-1-foo"},
		"oldest active eviction": {[]*evictionv1alpha1.Eviction{aged(named("pod-1-foo"), time.Hour), noFurther("pod-2-foo", 0), aged(named("pod-3-foo"), 2*time.Hour)}, "end pod-1-foo"},
		"latest failed eviction": {[]*evictionv1alpha1.Eviction{noFurther("pod-1-foo", time.Hour), noFurther("pod-2-foo", 2*time.Minute)}, "create pod-3-foo"},
		"latest succeeded eviction": {
			[]*evictionv1alpha1.Eviction{noFurther("pod-1-foo", 0), ended(named("pod-2-foo"), evicted, evictionv1alpha1.EvictionConditionReasonPodDeleted, 0)}, "report PodDeleted",
		},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(tc.all)
			f := facts(tc.all...)
			f.Requests[0].Status.ObservedGeneration = new(int64(1))
			got := ""
			switch s := evictionrequest.Next(f, now).Step.(type) {
			case evictionrequest.Create:
				got = "create " + s.Eviction.Name
			case evictionrequest.WriteEviction:
				got = "end " + s.Eviction.Name
			case evictionrequest.WriteRequest:
				got = "report " + apimeta.FindStatusCondition(s.Status.Conditions, evicted).Reason
			}
			if got != tc.want {
				t.Errorf("got %s; upstream: %s", got, tc.want)
			}
		})
	}
}

// In upstream's test the requester withdraws after the outcome: observedGeneration follows, and the reason stays.
func TestEvictionRequestValidation(t *testing.T) {
	for name, so := range map[string]func(*evictionrequest.Facts){
		"pod not found":            gone(0),
		"pod UID mismatch":         func(f *evictionrequest.Facts) { f.Pod.UID = "uid-2" },
		"pod with schedulingGroup": func(f *evictionrequest.Facts) { f.Pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{} },
	} {
		t.Run(name, func(t *testing.T) {
			f := facts()
			so(&f)
			for generation := int64(1); generation < 3; generation++ {
				r := f.Requests[0]
				r.Generation = generation
				step, ok := evictionrequest.Next(f, now).Step.(evictionrequest.WriteRequest)
				if !ok {
					t.Fatal("the request is not written")
				}
				r.Status = step.Status
				if got := conditions(r.Status.Conditions); got != "TargetEvicted False EvictionFailed, Failed True EvictionInvalid" || *r.Status.ObservedGeneration != generation {
					t.Errorf("got %s of generation %d; upstream: EvictionInvalid of generation %d", got, *r.Status.ObservedGeneration, generation)
				}
				withdrawn(&f)
			}
			if d := evictionrequest.Next(f, now); d.Step != nil {
				t.Errorf("it changes after that: %v", d.Step)
			}
		})
	}
}
