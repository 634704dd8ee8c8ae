// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/durationpb"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
)

type (
	startReq = driverv1.StartLifecycleTransitionRequest
	endReq   = driverv1.EndLifecycleTransitionRequest
	response = driverv1.LifecycleTransitionResponse
)

func TestServiceHandsCallsOn(t *testing.T) {
	base := Call{Transition: "reboot", Event: "a", EventUID: "a", Node: "n1", StartState: "rebooting", EndState: "rebooted"}
	cases := map[string]struct {
		start      *startReq
		end        *endReq
		wantMethod string
		want       Call
	}{
		"a caller that knows fields 1 to 5 only": {
			start:      startRequest("a"),
			wantMethod: "Start",
			want:       base,
		},
		"no node name: the own node": {
			start:      &startReq{TransitionName: "reboot", EventName: "a", Start: "rebooting", End: "rebooted"},
			wantMethod: "Start",
			want:       base,
		},
		"a caller that sends everything": {
			start: &startReq{
				TransitionName: "reboot", EventName: "a", NodeName: "n1", Start: "rebooting", End: "rebooted",
				Parameters: []byte(`{"x":1}`), ParametersGeneration: 4, EventUid: "u",
			},
			wantMethod: "Start",
			want: Call{
				Transition: "reboot", Event: "a", EventUID: "u", Node: "n1", StartState: "rebooting", EndState: "rebooted",
				Parameters: []byte(`{"x":1}`), ParametersGeneration: 4,
			},
		},
		"End without a wait": {end: endRequest("a"), wantMethod: "End", want: base},
		"End with a wait": {
			end:        withWait(endRequest("a"), 5*time.Second),
			wantMethod: "End",
			want:       waitFor(base, 5*time.Second),
		},
		"End with a wait that is too long": {
			end:        withWait(endRequest("a"), time.Hour),
			wantMethod: "End",
			want:       waitFor(base, 30*time.Second),
		},
		"End with a wait below nothing": {
			end:        withWait(endRequest("a"), -time.Second),
			wantMethod: "End",
			want:       base,
		},
		"the last End": {
			end:        &endReq{TransitionName: "reboot", EventName: "a", NodeName: "n1", Start: "rebooting", End: "rebooted", SlaExpired: true},
			wantMethod: "Stop",
			want:       base,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var gotMethod string
			var got Call
			record := func(name string) method {
				return func(_ context.Context, call Call) (Answer, error) {
					gotMethod, got = name, call
					return Answer{}, nil
				}
			}
			s := serve(t, testConfig(t), script{start: record("Start"), end: record("End"), stop: record("Stop")})
			if _, err := ask(t, s, tc.start, tc.end); err != nil {
				t.Fatal(err)
			}
			if gotMethod != tc.wantMethod {
				t.Errorf("%s was called, want %s", gotMethod, tc.wantMethod)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("call (-want +got):\n%s", diff)
			}
		})
	}
}

func withWait(request *endReq, wait time.Duration) *endReq {
	request.Wait = durationpb.New(wait)
	return request
}

func waitFor(call Call, wait time.Duration) Call {
	call.Wait = wait
	return call
}

// ask sends whichever request there is.
func ask(t *testing.T, s *served, start *startReq, end *endReq) (*response, error) {
	t.Helper()
	if start != nil {
		return s.slm.StartLifecycleTransition(t.Context(), start)
	}
	return s.slm.EndLifecycleTransition(t.Context(), end)
}

func TestServiceAnswers(t *testing.T) {
	since := time.Unix(1_800_000_000, 0)
	cases := map[string]struct {
		answer   Answer
		err      error
		panics   bool
		want     *response
		wantCode codes.Code
	}{
		"nothing to say": {
			want: &response{LifecycleCondition: "rebooting", NodeName: "n1"},
		},
		"the end": {
			answer: Answer{Done: true, Message: "up again"},
			want:   &response{LifecycleCondition: "rebooted", NodeName: "n1", Message: "up again"},
		},
		"everything": {
			answer: Answer{
				Message:         "rebooting",
				Progress:        &Progress{Total: 3, Done: 1},
				Blockers:        []Blocker{{Object: "Pod a/b", Reason: "Busy", By: "Job a/c", Message: "wait", Since: since}, {Object: "Pod a/d"}},
				NodeConditions:  []Condition{{Type: "Drained", Status: metav1.ConditionFalse, Reason: "Draining", Message: "m"}},
				EventConditions: []Condition{{Type: "Blocked", Status: metav1.ConditionTrue}},
				Waits:           true,
			},
			want: &response{
				LifecycleCondition: "rebooting", NodeName: "n1", Message: "rebooting",
				Progress:        &driverv1.Progress{Total: 3, Done: 1},
				Blockers:        []*driverv1.Blocker{{Object: "Pod a/b", Reason: "Busy", By: "Job a/c", Message: "wait", SinceSeconds: 1_800_000_000}, {Object: "Pod a/d"}},
				BlockersTotal:   2,
				NodeConditions:  []*driverv1.Condition{{Type: "Drained", Status: "False", Reason: "Draining", Message: "m"}},
				EventConditions: []*driverv1.Condition{{Type: "Blocked", Status: "True"}},
				Waits:           true,
			},
		},
		"pods that are left to responders": {
			answer: Answer{LeftToResponders: []Pod{{Namespace: "a", Name: "b", UID: "u"}}},
			want: &response{LifecycleCondition: "rebooting", NodeName: "n1", LeftToResponders: &driverv1.Pods{
				Pods: []*driverv1.PodReference{{Namespace: "a", Name: "b", Uid: "u"}},
			}},
		},
		"no pod that is left to responders": {
			answer: Answer{LeftToResponders: []Pod{}},
			want:   &response{LifecycleCondition: "rebooting", NodeName: "n1", LeftToResponders: &driverv1.Pods{}},
		},
		"more blockers than are passed on": {
			answer: Answer{Blockers: make([]Blocker, 25)},
			want:   &response{LifecycleCondition: "rebooting", NodeName: "n1", Blockers: emptyBlockers(20), BlockersTotal: 25},
		},
		"more blockers than the driver lists": {
			answer: Answer{Blockers: make([]Blocker, 1), BlockersTotal: 80},
			want:   &response{LifecycleCondition: "rebooting", NodeName: "n1", Blockers: emptyBlockers(1), BlockersTotal: 80},
		},
		"an error is told, and is not the end": {
			answer: Answer{Done: true, Message: "tried"},
			err:    errBroken,
			want:   &response{LifecycleCondition: "rebooting", NodeName: "n1", Message: "tried", Error: "broken"},
		},
		"trouble that passes": {
			err:      fmt.Errorf("list pods: %w: %w", ErrTryAgain, errBroken),
			wantCode: codes.Unavailable,
		},
		"a deadline of the driver's own is an error like any other": {
			err:  fmt.Errorf("list pods: %w", context.DeadlineExceeded),
			want: &response{LifecycleCondition: "rebooting", NodeName: "n1", Error: "list pods: context deadline exceeded"},
		},
		"a panic": {
			panics: true,
			want:   &response{LifecycleCondition: "rebooting", NodeName: "n1", Error: "the driver panicked: oh no"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			say := func(context.Context, Call) (Answer, error) {
				if tc.panics {
					panic("oh no")
				}
				return tc.answer, tc.err
			}
			s := serve(t, testConfig(t), script{start: say, end: say, stop: say})
			last := endRequest("a")
			last.SlaExpired = true
			for _, end := range []*endReq{nil, endRequest("a"), withWait(endRequest("a"), time.Second), last} {
				var start *startReq
				if end == nil {
					start = startRequest("a")
				}
				got, err := ask(t, s, start, end)
				if status.Code(err) != tc.wantCode {
					t.Fatalf("error is %v, want code %s", err, tc.wantCode)
				}
				if diff := cmp.Diff(tc.want, got, protocmp.Transform()); diff != "" {
					t.Errorf("answer (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func emptyBlockers(n int) []*driverv1.Blocker {
	var blockers []*driverv1.Blocker
	for range n {
		blockers = append(blockers, &driverv1.Blocker{})
	}
	return blockers
}

func TestServiceRefuses(t *testing.T) {
	cases := map[string]struct {
		change func(*startReq)
		want   string
	}{
		"another node":   {func(r *startReq) { r.NodeName = "n2" }, `node_name is "n2", but driver example.com/reboot works on node "n1" only`},
		"no event":       {func(r *startReq) { r.EventName = "" }, "event_name is required"},
		"no start state": {func(r *startReq) { r.Start = "" }, "start is required"},
		"no end state":   {func(r *startReq) { r.End = "" }, "end is required"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			fail := func(context.Context, Call) (Answer, error) {
				t.Error("the driver was called")
				return Answer{}, nil
			}
			s := serve(t, testConfig(t), script{start: fail})
			request := startRequest("a")
			tc.change(request)
			_, err := s.slm.StartLifecycleTransition(t.Context(), request)
			if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %v, want InvalidArgument with %q", err, tc.want)
			}
		})
	}
}

func TestADriverForAllNodesIsToldWhichOne(t *testing.T) {
	config := testConfig(t)
	config.NodeName, config.AnyNode = "", true
	s := serve(t, config, script{start: func(_ context.Context, call Call) (Answer, error) {
		return Answer{Message: "begins on " + call.Node}, nil
	}})
	for _, node := range []string{"n1", "n2"} {
		request := startRequest("a")
		request.NodeName = node
		got, err := s.slm.StartLifecycleTransition(t.Context(), request)
		if err != nil || got.GetNodeName() != node || got.GetMessage() != "begins on "+node {
			t.Errorf("for node %s: %v, %v", node, got, err)
		}
	}
	request := startRequest("a")
	request.NodeName = ""
	const want = "node_name is required: driver example.com/reboot works on all nodes"
	if _, err := s.slm.StartLifecycleTransition(t.Context(), request); status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), want) {
		t.Errorf("for no node: %v; want InvalidArgument with %q", err, want)
	}
}
