// SPDX-License-Identifier: Apache-2.0

package dispatch

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// driver is a driver that answers by a function. It is its own registry.
type driver struct {
	answer func(ctx context.Context, call string) (*driverv1.LifecycleTransitionResponse, error)
	absent error

	mu       sync.Mutex
	requests []proto.Message
}

func (d *driver) Client(string) (driverv1.SLMPluginClient, error) { return d, d.absent }

func (d *driver) StartLifecycleTransition(ctx context.Context, r *driverv1.StartLifecycleTransitionRequest, _ ...grpc.CallOption) (*driverv1.LifecycleTransitionResponse, error) {
	d.note(r)
	return d.answer(ctx, "Start")
}

func (d *driver) EndLifecycleTransition(ctx context.Context, r *driverv1.EndLifecycleTransitionRequest, _ ...grpc.CallOption) (*driverv1.LifecycleTransitionResponse, error) {
	d.note(r)
	if r.GetSlaExpired() {
		return d.answer(ctx, "LastEnd")
	}
	return d.answer(ctx, "End")
}

func (d *driver) note(r proto.Message) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests = append(d.requests, r)
}

func (d *driver) seen() []proto.Message {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.requests
}

// always answers every call alike.
func always(response *driverv1.LifecycleTransitionResponse, err error) func(context.Context, string) (*driverv1.LifecycleTransitionResponse, error) {
	return func(context.Context, string) (*driverv1.LifecycleTransitionResponse, error) { return response, err }
}

// untilEnd answers no call before its context ends.
func untilEnd(ctx context.Context, _ string) (*driverv1.LifecycleTransitionResponse, error) {
	<-ctx.Done()
	return nil, status.FromContextError(ctx.Err()).Err()
}

func claimed() *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "e", UID: "u", Generation: 3},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "t", BindingNode: "n"},
		Status: lifecyclev1alpha1.LifecycleEventStatus{
			Driver: &lifecyclev1alpha1.ClaimedDriver{Name: "d", Start: "a", End: "b"},
		},
	}
}

func newDispatcher(d *driver) *Dispatcher {
	return New("n", d, clock.RealClock{}, uncounted{}, func() {})
}

// called is what is remembered after one call.
func called(t *testing.T, d *driver, kind transition.CallKind) transition.Call {
	t.Helper()
	dispatcher := newDispatcher(d)
	dispatcher.Call(t.Context(), kind, claimed())
	dispatcher.Wait()
	return dispatcher.Calls()["u"]
}

func TestErrorsAreToldApart(t *testing.T) {
	for name, tc := range map[string]struct {
		err         error
		wantFailure string // ask again
		wantAnswer  *transition.Answer
	}{
		"the driver is starting":       {status.Error(codes.Unavailable, "not yet"), "not yet", nil},
		"the driver has gone":          {status.Error(codes.Canceled, "gone"), "gone", nil},
		"the driver's own time was up": {status.Error(codes.DeadlineExceeded, "slow"), "slow", nil},
		"the driver was interrupted":   {status.Error(codes.Aborted, "again"), "again", nil},
		"the driver has failed":        {status.Error(codes.Internal, "broken"), "", &transition.Answer{Generation: 3, Error: "Internal: broken"}},
		"the driver does not know it":  {status.Error(codes.Unimplemented, "what"), "", &transition.Answer{Generation: 3, Error: "Unimplemented: what"}},
		"the driver refuses it":        {status.Error(codes.InvalidArgument, "no"), "", &transition.Answer{Generation: 3, Error: "InvalidArgument: no"}},
		"an error that is none of gRPC": {
			errors.New("odd"), "", &transition.Answer{Generation: 3, Error: "Unknown: odd"},
		},
		"an answer that is too large": {
			status.Error(codes.ResourceExhausted, "larger than max"), "",
			&transition.Answer{Generation: 3, Malformed: "what cannot be received: larger than max"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := called(t, &driver{answer: always(nil, tc.err)}, transition.CallEnd)
			if got.Failure != tc.wantFailure || (got.Failures == 1) != (tc.wantFailure != "") {
				t.Errorf("got %d failures, %q; want %q", got.Failures, got.Failure, tc.wantFailure)
			}
			if diff := cmp.Diff(tc.wantAnswer, got.Answer); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestADriverThatIsNotRegisteredIsAskedAgain(t *testing.T) {
	got := called(t, &driver{absent: errors.New("not registered")}, transition.CallStart)
	if got.Failures != 1 || got.Failure != "not registered" || got.Answer != nil {
		t.Errorf("got %+v", got)
	}
}

func TestAnAnswerIsTakenOverAsItIs(t *testing.T) {
	got := called(t, &driver{answer: always(&driverv1.LifecycleTransitionResponse{
		LifecycleCondition: "a", NodeName: "n", Error: "e", Message: "m",
		Progress:         &driverv1.Progress{Total: 3, Done: 1},
		Blockers:         []*driverv1.Blocker{{Object: "Pod x/y", Reason: "R", By: "b", Message: "why", SinceSeconds: 7}, {Object: "Node"}},
		BlockersTotal:    9,
		NodeConditions:   []*driverv1.Condition{{Type: "T", Status: "True", Reason: "R", Message: "M"}},
		EventConditions:  []*driverv1.Condition{{Type: "U", Status: "False"}},
		Waits:            true,
		LeftToResponders: &driverv1.Pods{Pods: []*driverv1.PodReference{{Namespace: "x", Name: "y", Uid: "u"}}},
	}, nil)}, transition.CallEnd)
	want := &transition.Answer{
		Generation: 3, State: "a", NodeName: "n", Error: "e", Message: "m",
		Progress: &lifecyclev1alpha1.Progress{Total: 3, Done: 1},
		Blockers: []lifecyclev1alpha1.Blocker{
			{Object: "Pod x/y", Reason: "R", By: "b", Message: "why", Since: &metav1.Time{Time: time.Unix(7, 0)}}, {Object: "Node"},
		},
		BlockersTotal:    9,
		NodeConditions:   []transition.Condition{{Type: "T", Status: "True", Reason: "R", Message: "M"}},
		EventConditions:  []transition.Condition{{Type: "U", Status: "False"}},
		Waits:            true,
		LeftToResponders: []lifecyclev1alpha1.PodReference{{Namespace: "x", Name: "y", UID: "u"}},
	}
	if diff := cmp.Diff(want, got.Answer); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got.AnsweredKind != transition.CallEnd || got.InFlight {
		t.Errorf("got %+v; want that a call of kind End was answered", got)
	}
}

func TestNoPodsLeftIsAnotherAnswerThanNoneNamed(t *testing.T) {
	for name, tt := range map[string]struct {
		sent *driverv1.Pods
		want []lifecyclev1alpha1.PodReference
	}{
		"nothing is said": {nil, nil},
		"there are none":  {&driverv1.Pods{}, []lifecyclev1alpha1.PodReference{}},
	} {
		got := called(t, &driver{answer: always(&driverv1.LifecycleTransitionResponse{LifecycleCondition: "a", LeftToResponders: tt.sent}, nil)}, transition.CallEnd)
		if diff := cmp.Diff(tt.want, got.Answer.LeftToResponders); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestARequestSaysAllThatIsKnown(t *testing.T) {
	event := claimed()
	event.Spec.Parameters = &runtime.RawExtension{Raw: []byte(`{"a":1}`)}
	tooLarge := claimed()
	tooLarge.Spec.Parameters = &runtime.RawExtension{Raw: []byte(strings.Repeat("x", lifecyclev1alpha1.MaxParametersBytes+1))}
	end := func(last bool, wait time.Duration, parameters []byte) *driverv1.EndLifecycleTransitionRequest {
		r := &driverv1.EndLifecycleTransitionRequest{
			TransitionName: "t", EventName: "e", NodeName: "n", Start: "a", End: "b", SlaExpired: last,
			Parameters: parameters, ParametersGeneration: 3, EventUid: "u",
		}
		if wait > 0 {
			r.Wait = durationpb.New(wait)
		}
		return r
	}
	for name, tc := range map[string]struct {
		kind  transition.CallKind
		event *lifecyclev1alpha1.LifecycleEvent
		want  proto.Message
	}{
		"Start": {transition.CallStart, event, &driverv1.StartLifecycleTransitionRequest{
			TransitionName: "t", EventName: "e", NodeName: "n", Start: "a", End: "b",
			Parameters: []byte(`{"a":1}`), ParametersGeneration: 3, EventUid: "u",
		}},
		"End":                              {transition.CallEnd, event, end(false, MaxWait, []byte(`{"a":1}`))},
		"the last End":                     {transition.CallLastEnd, event, end(true, 0, []byte(`{"a":1}`))},
		"no parameters":                    {transition.CallLastEnd, claimed(), end(true, 0, nil)},
		"parameters that are over a limit": {transition.CallLastEnd, tooLarge, end(true, 0, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			d := &driver{answer: always(&driverv1.LifecycleTransitionResponse{}, nil)}
			dispatcher := newDispatcher(d)
			dispatcher.Call(t.Context(), tc.kind, tc.event)
			dispatcher.Wait()
			if diff := cmp.Diff([]proto.Message{tc.want}, d.seen(), protocmp.Transform()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADriverHas45SecondsToAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		got := called(t, &driver{answer: untilEnd}, transition.CallStart)
		if took := time.Since(began); took != 45*time.Second || got.Failures != 1 || got.Failure != "no answer within 45s" {
			t.Errorf("after %s got %+v; want a failure after 45s", took, got)
		}
	})
}

func TestFailuresAreCountedUntilAnAnswerComes(t *testing.T) {
	d := &driver{answer: always(nil, status.Error(codes.Unavailable, "not yet"))}
	dispatcher := newDispatcher(d)
	for range 3 {
		dispatcher.Call(t.Context(), transition.CallEnd, claimed())
		dispatcher.Wait()
	}
	if got := dispatcher.Calls()["u"].Failures; got != 3 {
		t.Errorf("there are %d failures; want 3", got)
	}
	d.answer = always(&driverv1.LifecycleTransitionResponse{LifecycleCondition: "a"}, nil)
	dispatcher.Call(t.Context(), transition.CallEnd, claimed())
	dispatcher.Wait()
	if got := dispatcher.Calls()["u"]; got.Failures != 0 || got.Failure != "" || got.Answer == nil {
		t.Errorf("after an answer: %+v", got)
	}
}

// The last answer stays while the next call is in flight: progress does not flicker.
func TestAnAnswerStaysWhileTheNextCallIsInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &driver{answer: always(&driverv1.LifecycleTransitionResponse{LifecycleCondition: "a"}, nil)}
		dispatcher := newDispatcher(d)
		dispatcher.Call(t.Context(), transition.CallStart, claimed())
		dispatcher.Wait()
		d.answer = untilEnd
		dispatcher.Call(t.Context(), transition.CallEnd, claimed())
		got := dispatcher.Calls()["u"]
		if !got.InFlight || got.Kind != transition.CallEnd || got.Answer == nil || got.AnsweredKind != transition.CallStart {
			t.Errorf("got %+v; want an End in flight, and the answer to Start", got)
		}
		dispatcher.Wait()
	})
}

func TestACallTakesThePlaceOfOneInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		d := &driver{answer: func(_ context.Context, call string) (*driverv1.LifecycleTransitionResponse, error) {
			if call == "LastEnd" {
				return &driverv1.LifecycleTransitionResponse{LifecycleCondition: "a", Message: "stopped"}, nil
			}
			<-release // deaf to its context, and late
			return &driverv1.LifecycleTransitionResponse{LifecycleCondition: "b"}, nil
		}}
		dispatcher := newDispatcher(d)
		dispatcher.Call(t.Context(), transition.CallEnd, claimed())
		synctest.Wait()
		dispatcher.Call(t.Context(), transition.CallLastEnd, claimed())
		synctest.Wait()
		close(release)
		dispatcher.Wait()
		got := dispatcher.Calls()["u"]
		if got.AnsweredKind != transition.CallLastEnd || got.Answer.Message != "stopped" || got.Answer.State != "a" {
			t.Errorf("got %+v; want the answer to the last End alone", got)
		}
	})
}

func TestWhoeverWaitsIsWokenWhenACallHasEnded(t *testing.T) {
	woken := make(chan struct{}, 1)
	d := &driver{answer: always(&driverv1.LifecycleTransitionResponse{}, nil)}
	dispatcher := New("n", d, clock.RealClock{}, uncounted{}, func() { woken <- struct{}{} })
	dispatcher.Call(t.Context(), transition.CallStart, claimed())
	<-woken
	dispatcher.Wait()
}

func TestAnEventThatVanishedIsEndedUnlessItsDriverKnows(t *testing.T) {
	for name, tc := range map[string]struct {
		last   transition.CallKind
		answer *driverv1.LifecycleTransitionResponse
		want   bool // the driver is told
	}{
		"in the middle":           {transition.CallEnd, &driverv1.LifecycleTransitionResponse{LifecycleCondition: "a"}, true},
		"just begun":              {transition.CallStart, &driverv1.LifecycleTransitionResponse{}, true},
		"at its end":              {transition.CallEnd, &driverv1.LifecycleTransitionResponse{LifecycleCondition: "b"}, false},
		"after it had failed":     {transition.CallEnd, &driverv1.LifecycleTransitionResponse{Error: "x"}, false},
		"after the last call":     {transition.CallLastEnd, &driverv1.LifecycleTransitionResponse{LifecycleCondition: "a"}, false},
		"while it is still there": {"", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			d := &driver{answer: always(tc.answer, nil)}
			present := map[types.UID]bool{}
			dispatcher := newDispatcher(d)
			if tc.last == "" {
				d.answer = always(&driverv1.LifecycleTransitionResponse{}, nil)
				tc.last, present["u"] = transition.CallStart, true
			}
			dispatcher.Call(t.Context(), tc.last, claimed())
			dispatcher.Wait()
			before := len(d.seen())
			dispatcher.Keep(t.Context(), present)
			dispatcher.Keep(t.Context(), present)
			dispatcher.Wait()

			told := d.seen()[before:]
			if (len(told) == 1) != tc.want || len(told) > 1 {
				t.Fatalf("the driver was called %d times; want that it is told: %v", len(told), tc.want)
			}
			if tc.want && !told[0].(*driverv1.EndLifecycleTransitionRequest).GetSlaExpired() {
				t.Errorf("it was told %v; want the last End", told[0])
			}
			if _, known := dispatcher.Calls()["u"]; known != present["u"] {
				t.Errorf("it is remembered: %v; want %v", known, present["u"])
			}
		})
	}
}

// The agent ends: its calls end with it, and none is left behind.
func TestCallsEndWithTheirContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		dispatcher := newDispatcher(&driver{answer: untilEnd})
		dispatcher.Call(ctx, transition.CallEnd, claimed())
		synctest.Wait()
		began := time.Now()
		cancel(errors.New("the agent ends"))
		dispatcher.Wait()
		if got := dispatcher.Calls()["u"]; time.Since(began) != 0 || got.Failure != "the agent ends" {
			t.Errorf("after %s got %+v", time.Since(began), got)
		}
	})
}

// uncounted is told of calls, and does nothing about it.
type uncounted struct{}

func (uncounted) Called(string, string, string, time.Duration) {}

// counter keeps what it is told.
type counter struct{ lines chan string }

func (c counter) Called(driver, method, code string, _ time.Duration) {
	c.lines <- driver + " " + method + " " + code
}

func TestCallsAreCountedByTheirCodes(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		kind transition.CallKind
		want string
	}{
		"an answer": {nil, transition.CallStart, "d StartLifecycleTransition OK"},
		"trouble":   {status.Error(codes.Unavailable, "gone"), transition.CallEnd, "d EndLifecycleTransition Unavailable"},
		"a failure": {errors.New("odd"), transition.CallLastEnd, "d EndLifecycleTransition Unknown"},
	} {
		t.Run(name, func(t *testing.T) {
			counted := counter{make(chan string, 1)}
			dispatcher := New("n", &driver{answer: always(&driverv1.LifecycleTransitionResponse{}, tc.err)}, clock.RealClock{}, counted, func() {})
			dispatcher.Call(t.Context(), tc.kind, claimed())
			if got := <-counted.lines; got != tc.want {
				t.Errorf("counted is %q; want %q", got, tc.want)
			}
			dispatcher.Wait()
		})
	}
}
