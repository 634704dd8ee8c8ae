// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/chaos/plan"
	"github.com/slipway-k8s/slipway/test/harness"
)

// do asks for what a job says, and waits until it has ended as it should.
func (s *stage) do(t *testing.T, round plan.Round, job plan.Job) {
	t.Helper()
	began := time.Now()
	switch job.What {
	case plan.Drain:
		s.drain(t, s.nodes[job.Nodes[0]])
	case plan.Cancel:
		s.cancel(t, s.nodes[job.Nodes[0]])
	case plan.Maintain:
		s.maintain(t, job.Nodes)
	case plan.Evict:
		s.evict(t, s.nodes[job.Nodes[0]])
	case plan.Claim:
		s.claim(t, s.nodes[job.Nodes[0]])
	case plan.Drive:
		s.drive(t, job, !round.Shares(job))
	default:
		t.Fatalf("nobody knows how to do %q", job)
	}
	t.Logf("%s: %s ended after %s", time.Now().Format(time.TimeOnly), job, time.Since(began).Round(time.Second/10))
}

// drain empties a node, and returns it.
func (s *stage) drain(t *testing.T, node string) {
	t.Helper()
	before := map[types.UID]bool{}
	for _, p := range s.pods(t) {
		before[p.UID] = p.Spec.NodeName == node
	}
	s.succeeds(t, s.ask(t, node, harness.Drain))
	for _, p := range s.pods(t) {
		if before[p.UID] {
			t.Errorf("drained is node %s, and pod %s is still on it", node, p.Name)
		}
	}
	s.refuses(t, s.askAs(t, s.another, node, harness.Return))
	s.succeeds(t, s.ask(t, node, harness.Return))
	s.isBack(t, node)
}

// cancel calls a drain off that has been claimed. It may be over before that is heard of.
func (s *stage) cancel(t *testing.T, node string) {
	t.Helper()
	e := s.ask(t, node, harness.Drain)
	s.env.AwaitEvent(t, e.Name, "is claimed", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed || e.Status.ClaimStatus.Terminal()
	})
	s.remove(t, e)
	ended := s.outcome(t, e)
	switch {
	case ended.Status.ClaimStatus == lifecyclev1alpha1.Succeeded:
		s.succeeds(t, s.ask(t, node, harness.Return))
	case harness.Finished(ended).Reason != lifecyclev1alpha1.ReasonCanceled:
		t.Errorf("event %s was called off, and ended as %s, %s: %s", e.Name, ended.Status.ClaimStatus, harness.Finished(ended).Reason, harness.Finished(ended).Message)
	}
	s.isBack(t, node)
}

// ask creates an event of the node, which stays until its outcome was seen.
func (s *stage) ask(t *testing.T, node, transition string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	return s.askAs(t, s.env.Client, node, transition)
}

func (s *stage) askAs(t *testing.T, person client.Client, node, transition string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: s.name(node)}}
	e.Spec = lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node, SLA: &metav1.Duration{Duration: time.Hour}}
	harness.Kept(e)
	s.create(t, person, e)
	return e
}

// name is one that nothing else has.
func (s *stage) name(of string) string { return fmt.Sprintf("%s-%d", of, s.names.Add(1)) }

func (s *stage) succeeds(t *testing.T, e *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	if ended := s.outcome(t, e); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("event %s, %s, has ended as %s: %s", e.Name, e.Spec.TransitionName, ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
}

// refuses waits until the return by a user that does not hold the node has failed. Such an event stays for a while, for
// its user.
func (s *stage) refuses(t *testing.T, e *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	ended := s.env.AwaitEvent(t, e.Name, "has ended", func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.Status.ClaimStatus.Terminal() })
	if reason := harness.Finished(ended).Reason; ended.Status.ClaimStatus != lifecyclev1alpha1.Failed || reason != lifecyclev1alpha1.ReasonHeldByOthers {
		t.Errorf("another user returns node %s, and that ends as %s, %s", e.Spec.BindingNode, ended.Status.ClaimStatus, reason)
	}
	s.remove(t, e)
	s.outcome(t, e)
}

// outcome waits until the event has ended and nobody else wants to keep it, and lets it go.
func (s *stage) outcome(t *testing.T, e *lifecyclev1alpha1.LifecycleEvent) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	ended := s.env.AwaitEvent(t, e.Name, "has ended and is left to us", func(o *lifecyclev1alpha1.LifecycleEvent) bool {
		return o.Status.ClaimStatus.Terminal() && o.DeletionTimestamp != nil && slices.Equal(o.Finalizers, e.Finalizers)
	})
	none := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	s.persist(t, "let go of "+e.Name, func(ctx context.Context) error {
		return client.IgnoreNotFound(s.env.Client.Patch(ctx, ended.DeepCopy(), none))
	})
	s.env.AwaitEventGone(t, e.Name)
	return ended
}

// isBack checks that pods can go to the node again.
func (s *stage) isBack(t *testing.T, node string) {
	t.Helper()
	harness.Await(t, s.env, "node "+node+" is back", &corev1.NodeList{}, func(n *corev1.Node) bool {
		return !n.Spec.Unschedulable && !slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool { return taint.Effect == corev1.TaintEffectNoSchedule })
	}, harness.Named(node))
}

// claim is another controller at work: it claims an event that Slipway cannot claim yet, and ends it when Slipway has seen
// the claim. The audit log shows whether Slipway wrote the event meanwhile.
func (s *stage) claim(t *testing.T, node string) {
	t.Helper()
	theirs := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: s.name(node), Finalizers: []string{lifecyclev1alpha1.ClaimProtectionFinalizer}}}
	theirs.Spec = lifecyclev1alpha1.LifecycleEventSpec{
		TransitionName: harness.Return, BindingNode: node, Gates: []lifecyclev1alpha1.Gate{{Name: "example.com/another-controller"}},
	}
	s.create(t, s.env.Client, theirs)
	s.phase(t, theirs, lifecyclev1alpha1.Claimed)
	ours := s.ask(t, node, harness.Return)
	s.env.AwaitEvent(t, ours.Name, "waits for its turn, or has had it", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		c := harness.Condition(e, lifecyclev1alpha1.ConditionClaimable)
		return c.Reason == lifecyclev1alpha1.ReasonWaitingForTurn || e.Status.ClaimStatus.Terminal()
	})
	s.phase(t, theirs, lifecyclev1alpha1.Succeeded)
	s.remove(t, theirs)
	none := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	s.persist(t, "let go of "+theirs.Name, func(ctx context.Context) error {
		return client.IgnoreNotFound(s.env.Client.Patch(ctx, theirs.DeepCopy(), none))
	})
	s.succeeds(t, ours)
}

// phase writes the claim status of an event, as its claimer.
func (s *stage) phase(t *testing.T, e *lifecyclev1alpha1.LifecycleEvent, phase lifecyclev1alpha1.ClaimStatus) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"status":{"claimStatus":%q}}`, phase))
	s.persist(t, fmt.Sprintf("%s becomes %s", e.Name, phase), func(ctx context.Context) error {
		return s.env.Client.Status().Patch(ctx, e.DeepCopy(), patch)
	})
}

// maintain has nodes maintained, all at a time, by nobody: by two maintenances at once.
func (s *stage) maintain(t *testing.T, which []int) {
	t.Helper()
	both := []*slipwayv1alpha1.NodeMaintenance{s.begin(t, which), s.begin(t, which)}
	for _, m := range both {
		s.completed(t, m, len(which))
	}
	for _, i := range which {
		s.isBack(t, s.nodes[i])
	}
}

func (s *stage) begin(t *testing.T, which []int) *slipwayv1alpha1.NodeMaintenance {
	t.Helper()
	in := corev1.NodeSelectorRequirement{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn}
	for _, i := range which {
		in.Values = append(in.Values, s.nodes[i])
	}
	m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: s.name("maintenance")}}
	m.Spec = slipwayv1alpha1.NodeMaintenanceSpec{
		NodeSelector: corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{in}}}},
		Stage:        slipwayv1alpha1.StageDrain,
		Rollout:      &slipwayv1alpha1.MaintenanceRollout{MaxUnavailable: new(intstr.FromInt(len(which)))},
		Work:         &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone},
	}
	s.create(t, s.env.Client, m)
	return m
}

// completed waits until a maintenance of so many nodes is completed, and deletes it.
func (s *stage) completed(t *testing.T, m *slipwayv1alpha1.NodeMaintenance, nodes int) {
	t.Helper()
	ended := harness.Await(t, s.env, "maintenance "+m.Name+" is completed", &slipwayv1alpha1.NodeMaintenanceList{}, func(m *slipwayv1alpha1.NodeMaintenance) bool {
		for _, c := range m.Status.Conditions {
			if c.Type == slipwayv1alpha1.MaintenanceCompleted && c.Status == metav1.ConditionTrue && c.ObservedGeneration == m.Generation {
				return true
			}
		}
		return false
	}, harness.Named(m.Name))
	if n := ended.Status.Nodes; int(n.Selected) != nodes || int(n.Returned) != nodes || n.Failed+n.Out+n.Waiting != 0 {
		t.Errorf("maintenance %s of %d nodes has ended with %+v", m.Name, nodes, n)
	}
	s.remove(t, m)
	harness.AwaitNone[*slipwayv1alpha1.NodeMaintenance](t, s.env, &slipwayv1alpha1.NodeMaintenanceList{}, harness.Named(m.Name))
}

// evict asks for the evictions of the pods of a node, and takes the requests back when they
// are gone.
func (s *stage) evict(t *testing.T, node string) {
	t.Helper()
	var asked []*evictionv1alpha1.EvictionRequest
	for _, p := range s.pods(t) {
		if p.Spec.NodeName != node {
			continue
		}
		r := &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{Name: s.name("request"), Namespace: p.Namespace}}
		r.Spec.Target.Pod = &evictionv1alpha1.EvictionRequestPodReference{Name: p.Name, UID: p.UID}
		r.Spec.Requester, r.Spec.Intent = "example.com/chaos", evictionv1alpha1.EvictionRequestIntentEviction
		s.create(t, s.env.Client, r)
		asked = append(asked, r)
	}
	for _, r := range asked {
		harness.AwaitNone[*corev1.Pod](t, s.env, &corev1.PodList{}, harness.Named(r.Spec.Target.Pod.Name), client.InNamespace(r.Namespace))
		s.remove(t, r)
		harness.AwaitNone[*evictionv1alpha1.EvictionRequest](t, s.env, &evictionv1alpha1.EvictionRequestList{}, harness.Named(r.Name), client.InNamespace(r.Namespace))
	}
}
