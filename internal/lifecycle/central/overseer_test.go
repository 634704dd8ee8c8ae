// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

var began = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// stage is an overseer whose caches can show something else than the API server has.
type stage struct {
	*Overseer
	t     *testing.T
	clock *clocktesting.FakePassiveClock
	api   client.Client
}

// apiOf is an API server, or what a cache shows of one.
func apiOf(objects ...client.Object) client.Client {
	builder := fake.NewClientBuilder().WithScheme(apigroup.In(lifecyclev1alpha1.GroupSlipway).Scheme()).
		WithObjects(objects...).WithStatusSubresource(&lifecyclev1alpha1.LifecycleEvent{}, &corev1.Node{})
	builder.WithIndex(&lifecyclev1alpha1.LifecycleTransition{}, loop.TransitionNodeField, func(o client.Object) []string {
		return []string{o.(*lifecyclev1alpha1.LifecycleTransition).Spec.NodeName}
	})
	if err := Index(context.Background(), indices{builder}); err != nil {
		panic(err) // indices returns none
	}
	return builder.Build()
}

// indices adds indices to a fake client.
type indices struct{ *fake.ClientBuilder }

func (i indices) IndexField(_ context.Context, o client.Object, field string, value client.IndexerFunc) error {
	i.WithIndex(o, field, value)
	return nil
}

func newStage(t *testing.T, cached, api client.Client) *stage {
	t.Helper()
	clients := kubernetesfake.NewClientset()
	source, err := telemetry.New(t.Context(), telemetry.Options{
		Component: telemetry.Controller, APIGroup: lifecyclev1alpha1.GroupSlipway, Events: clients.CoreV1(), Metrics: prometheus.NewRegistry(),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(source.Close)
	s := &stage{t: t, clock: clocktesting.NewFakePassiveClock(began), api: api}
	s.Overseer = NewOverseer(Options{
		Namespace: "slipway-system", Clock: s.clock,
		Cached: cached, Live: api, Recorder: record.New(api), Observer: source,
		Writer: func(node string) *nodestate.Writer {
			return nodestate.NewWriter(nodesOver{api: api}, node, s.clock)
		},
	})
	return s
}

// pass does n passes for the node.
func (s *stage) pass(node string, n int) {
	s.t.Helper()
	for range n {
		if _, err := s.Reconcile(s.t.Context(), node); err != nil {
			s.t.Fatal(err)
		}
	}
}

func (s *stage) event(name string) *lifecyclev1alpha1.LifecycleEvent {
	s.t.Helper()
	var e lifecyclev1alpha1.LifecycleEvent
	if err := s.api.Get(s.t.Context(), client.ObjectKey{Name: name}, &e); err != nil {
		s.t.Fatal(err)
	}
	return &e
}

func readyNode(name string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)},
		Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
}

func agentOn(node string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "slipway-system", Name: "agent-" + node, Labels: oversight.AgentLabels()},
		Spec:       corev1.PodSpec{NodeName: node},
		Status:     corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}},
	}
}

func eventOn(node string, gates ...string) *lifecyclev1alpha1.LifecycleEvent {
	e := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "on-" + node, UID: types.UID("on-" + node), CreationTimestamp: metav1.NewTime(began)},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "drain", BindingNode: node},
		Status:     lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending},
	}
	for _, name := range gates {
		e.Spec.Gates = append(e.Spec.Gates, lifecyclev1alpha1.Gate{Name: name})
	}
	return e
}

func claimedOn(node string) *lifecyclev1alpha1.LifecycleEvent {
	e := eventOn(node)
	e.Finalizers = []string{lifecyclev1alpha1.ClaimProtectionFinalizer}
	e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
	e.Status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: node}
	return e
}

func TestAnEventIsNotEndedOnWhatACacheShows(t *testing.T) {
	s := newStage(t, apiOf(claimedOn("new")), apiOf(claimedOn("new"), readyNode("new"), agentOn("new")))
	s.pass("new", 3)
	if got := s.event("on-new").Status.ClaimStatus; got != lifecyclev1alpha1.Claimed {
		t.Errorf("the Node is there, and the cache does not show it yet: the event is %s", got)
	}
}

func TestAnEventOfANodeThatIsGoneIsEndedAndWoundUp(t *testing.T) {
	api := apiOf(claimedOn("gone"))
	s := newStage(t, api, api)
	s.pass("gone", 1)
	e := s.event("on-gone")
	finished := apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionFinished)
	if e.Status.ClaimStatus != lifecyclev1alpha1.Failed || finished == nil || finished.Reason != lifecyclev1alpha1.ReasonNodeGone {
		t.Fatalf("it is %s, %+v", e.Status.ClaimStatus, finished)
	}
	s.pass("gone", 2)
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(e), e); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it is still there: %v, finalizers %q", err, e.Finalizers)
	}
}

func TestOfTwoEventsThatAreAskedForTogetherOnePasses(t *testing.T) {
	api := apiOf(readyNode("a"), readyNode("b"), agentOn("a"), agentOn("b"),
		eventOn("a", lifecyclev1alpha1.GateGuards), eventOn("b", lifecyclev1alpha1.GateGuards))
	// The cache never shows that the other one has passed.
	behind := apiOf(readyNode("a"), readyNode("b"), agentOn("a"), agentOn("b"),
		eventOn("a", lifecyclev1alpha1.GateGuards), eventOn("b", lifecyclev1alpha1.GateGuards))
	up := newStage(t, api, api)
	up.pass("a", 3)
	if gates := up.event("on-a").Spec.Gates; len(gates) > 0 {
		t.Fatalf("the first does not pass: %v, %+v", gates, up.event("on-a").Status.Conditions)
	}
	s := newStage(t, behind, api)
	markPassed(t, behind, "on-b")
	s.pass("b", 3)
	want := []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}}
	if diff := cmp.Diff(want, s.event("on-b").Spec.Gates); diff != "" {
		t.Errorf("gates of the second (-want +got):\n%s", diff)
	}
	up.pass("b", 2)
	c := apimeta.FindStatusCondition(s.event("on-b").Status.Conditions, lifecyclev1alpha1.ConditionGuardsPassed)
	if c == nil || c.Status != metav1.ConditionFalse || c.Reason != string(lifecyclev1alpha1.GuardLastSchedulableNode) {
		t.Errorf("the second does not say why it is held: %+v", c)
	}
}

// markPassed makes a cache show that the guards have noted that the event passes.
func markPassed(t *testing.T, cached client.Client, name string) {
	t.Helper()
	var e lifecyclev1alpha1.LifecycleEvent
	if err := cached.Get(t.Context(), client.ObjectKey{Name: name}, &e); err != nil {
		t.Fatal(err)
	}
	apimeta.SetStatusCondition(&e.Status.Conditions, metav1.Condition{
		Type: lifecyclev1alpha1.ConditionGuardsPassed, Status: metav1.ConditionTrue, Reason: lifecyclev1alpha1.ReasonPassed,
		LastTransitionTime: metav1.NewTime(began),
	})
	if err := cached.Status().Update(t.Context(), &e); err != nil {
		t.Fatal(err)
	}
}

func TestOfNodesWithoutEventsNothingIsRemembered(t *testing.T) {
	api := apiOf(readyNode("a"), readyNode("b"), eventOn("a"))
	s := newStage(t, api, api)
	s.pass("a", 1)
	s.pass("b", 1)
	if diff := cmp.Diff(map[string]oversight.Sighting{"a": {Since: began, Told: map[types.UID]bool{"on-a": true}}}, s.lost); diff != "" {
		t.Errorf("agents that are lost (-want +got):\n%s", diff)
	}
	if err := api.Delete(t.Context(), s.event("on-a")); err != nil {
		t.Fatal(err)
	}
	s.pass("a", 1)
	if len(s.lost) > 0 {
		t.Errorf("remembered after the event has gone: %v", s.lost)
	}
}

func TestADeadAgentsEventIsStalledAndEndedInTime(t *testing.T) {
	e := claimedOn("a")
	e.Status.SLA = &metav1.Time{Time: began.Add(time.Minute)}
	api := apiOf(readyNode("a"), e)
	follow(t, newStage(t, api, api), []moment{
		{0, "Claimed "},
		{39 * time.Second, "Claimed "},
		{40 * time.Second, "Claimed AgentMissing"},
		{89 * time.Second, "Claimed AgentMissing"},
		{90 * time.Second, "SlaExpired AgentMissing"},
	})
}

// Its rights were taken away, or it hangs.
func TestAnAgentThatIsReadyAndDoesNothingIsOverruled(t *testing.T) {
	e := claimedOn("a")
	e.Status.SLA = &metav1.Time{Time: began.Add(time.Minute)}
	api := apiOf(readyNode("a"), agentOn("a"), e)
	s := newStage(t, api, api)
	follow(t, s, []moment{
		{0, "Claimed "},
		{179 * time.Second, "Claimed "},
		{180 * time.Second, "Claimed AgentNotResponding"},
		{219 * time.Second, "Claimed AgentNotResponding"},
		{220 * time.Second, "SlaExpired AgentNotResponding"},
	})
	s.clock.SetTime(began.Add(340 * time.Second))
	s.pass("a", 3)
	if err := s.api.Get(t.Context(), client.ObjectKeyFromObject(e), e); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("it is still there: %v, finalizers %q", err, e.Finalizers)
	}
}

func TestAnAgentThatEndsItsEventAtLastIsNotOverruled(t *testing.T) {
	e := claimedOn("a")
	e.Status.SLA = &metav1.Time{Time: began.Add(time.Minute)}
	behind := apiOf(readyNode("a"), agentOn("a"), e)
	ended := e.DeepCopy()
	ended.Status.ClaimStatus = lifecyclev1alpha1.Succeeded
	s := newStage(t, behind, behind)
	s.clock.SetTime(began.Add(180 * time.Second))
	s.pass("a", 1)
	s.Live = apiOf(readyNode("a"), agentOn("a"), ended)
	s.clock.SetTime(began.Add(220 * time.Second))
	s.pass("a", 1)
	if got := s.event("on-a").Status.ClaimStatus; got != lifecyclev1alpha1.Claimed {
		t.Errorf("the API server has it as Succeeded, which the cache does not show: the controller has written %s", got)
	}
}

// moment is how the event stands at some time: its phase, and the reason for which it is stalled.
type moment struct {
	after time.Duration
	want  string
}

// follow does one pass at each moment, for the event on node a.
func follow(t *testing.T, s *stage, moments []moment) {
	t.Helper()
	for _, m := range moments {
		s.clock.SetTime(began.Add(m.after))
		s.pass("a", 1)
		now, stalled := s.event("on-a"), ""
		if c := apimeta.FindStatusCondition(now.Status.Conditions, lifecyclev1alpha1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
			stalled = c.Reason
		}
		if got := string(now.Status.ClaimStatus) + " " + stalled; got != m.want {
			t.Errorf("after %s it is %q; want %q", m.after, got, m.want)
		}
	}
}

func TestAFreezeThatTheCacheLacksKeepsTheGate(t *testing.T) {
	objects := []client.Object{readyNode("a"), readyNode("b"), agentOn("a"), eventOn("a", lifecyclev1alpha1.GateGuards)}
	sale := &slipwayv1alpha1.Freeze{ObjectMeta: metav1.ObjectMeta{Name: "sale"}}
	behind, api := apiOf(objects...), apiOf(append(objects, sale)...)
	markPassed(t, behind, "on-a")
	markPassed(t, api, "on-a")
	s := newStage(t, behind, api)
	s.pass("a", 3)
	if gates := s.event("on-a").Spec.Gates; len(gates) != 1 {
		t.Errorf("during the freeze, the gate is removed: %v", gates)
	}
	if err := api.Delete(t.Context(), sale); err != nil {
		t.Fatal(err)
	}
	s.pass("a", 1)
	if gates := s.event("on-a").Spec.Gates; len(gates) > 0 {
		t.Errorf("after the freeze, the event does not pass: %v", gates)
	}
}
