// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

const notReturned = "a node that was drained stays cordoned until it is returned, which is not part of this test"

func quick() harness.PodOptions { return harness.PodOptions{Gone: time.Second} }

// heldUp tells whether an event has a blocker of this reason, by this object.
func heldUp(reason, by string) func(*lifecyclev1alpha1.LifecycleEvent) bool {
	return func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.ContainsFunc(e.Status.Blockers, func(b lifecyclev1alpha1.Blocker) bool {
			return b.Reason == reason && b.By == by && b.Message != ""
		})
	}
}

func TestTheRulesOfAnAppAreKeptWhenItsNodeIsDrained(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "app-rules")
	node.Expect(harness.CordonLeft, notReturned)
	monitor := node.Pod("rules-monitor", quick())
	node.Pod("rules-job", quick())
	web := node.Pod("rules-web", quick())
	cache := node.Pod("rules-cache", quick(), labelled("skip"))
	env.Rule(t, "default", "rules-monitor", harness.ForApp("rules-monitor"), harness.Behaves(slipwayv1alpha1.DrainSkip), onNodes("app-rules"))
	env.Rule(t, "default", "rules-elsewhere", harness.ForApp("rules-web"), harness.Behaves(slipwayv1alpha1.DrainSkip), onNodes("no-such-group"))
	job := env.Rule(t, "default", "rules-job", harness.ForApp("rules-job"), harness.Behaves(slipwayv1alpha1.DrainWaitCompleted))
	node.Agent("")

	name := node.EventName("drain")
	node.Event(name, harness.Drain, harness.Kept)
	env.AwaitEvent(t, name, "waits for the job", heldUp("WaitingForCompletion", "DrainRule default/rules-job"))
	node.AwaitPodsGone(client.MatchingLabels{"app": "rules-web"})
	env.Delete(t, job) // a change counts at once
	node.AwaitPodsGone(client.MatchingLabels{"app": "rules-job"})

	ended := env.Outcome(t, name)
	if ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the event is %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	left := harness.Condition(ended, lifecyclev1alpha1.ConditionPodsLeft)
	if left.Status != metav1.ConditionTrue || left.Reason != "PodSkipped" || !strings.Contains(left.Message, monitor.Name) ||
		!strings.Contains(left.Message, cache.Name) || strings.Contains(left.Message, web.Name) {
		t.Errorf("condition PodsLeft is %+v, want the monitor and the cache alone, skipped", left)
	}
	env.Untouched(t, monitor)
	env.Untouched(t, cache)
}

func TestABudgetIsOverriddenOnlyByAnEscalationAndNotInSilence(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "escalated")
	node.Expect(harness.CordonLeft, notReturned)
	env.Deployment(t, "rules-kept", "escalated", 1, quick())
	env.Budget(t, "rules-kept", 0)
	node.Agent("")

	name := node.EventName("drain")
	node.Event(name, harness.Drain, harness.Kept)
	env.AwaitEvent(t, name, "is held up by the budget", heldUp("BudgetImpossible", "PodDisruptionBudget default/rules-kept"))
	node.Change(name, harness.Parameters(t, func(p *slipwayv1alpha1.DrainParameters) {
		p.Escalation = &slipwayv1alpha1.DrainEscalation{DeleteAfter: &metav1.Duration{Duration: time.Second}}
	}))

	ended := env.Outcome(t, name)
	if c := harness.Condition(ended, lifecyclev1alpha1.ConditionBudgetsOverridden); c.Status != metav1.ConditionTrue || !strings.Contains(c.Message, "rules-kept") {
		t.Errorf("condition BudgetsOverridden is %+v, want True with the pod's name", c)
	}
	if evictions := node.Evictions(); len(evictions) > 0 {
		t.Errorf("evictions were sent although the budget never allows one: %v", evictions)
	}
	harness.Await(t, env, "is told who asked", &corev1.EventList{}, func(e *corev1.Event) bool {
		return e.InvolvedObject.Name == node.Name && e.Type == corev1.EventTypeWarning &&
			strings.Contains(e.Message, `requested by "admin"`) && strings.Contains(e.Message, "rules-kept")
	})
}

func TestAHeldDrainGoesOnWhenItsTargetsRise(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "held")
	node.Expect(harness.CordonLeft, notReturned)
	node.Pod("rules-first", quick())
	second := node.Pod("rules-second", quick())
	node.Agent("")

	name := node.EventName("drain")
	node.Event(name, harness.Drain, harness.Kept, harness.Parameters(t, func(p *slipwayv1alpha1.DrainParameters) {
		p.Hold = true
		p.Targets = []slipwayv1alpha1.DrainTarget{{
			PodType: slipwayv1alpha1.PodTypeDefault, PodSelector: metav1.SetAsLabelSelector(map[string]string{"app": "rules-first"}),
		}}
	}))
	env.AwaitEvent(t, name, "has reached its targets", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return harness.Condition(e, lifecyclev1alpha1.ConditionTargetsReached).Status == metav1.ConditionTrue
	})
	node.AwaitPodsGone(client.MatchingLabels{"app": "rules-first"})
	env.Untouched(t, second)

	node.Change(name, harness.Parameters(t, func(*slipwayv1alpha1.DrainParameters) {}))
	if ended := env.Outcome(t, name); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the event is %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": "rules-second"})
}
