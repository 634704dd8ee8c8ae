// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubectl/pkg/util/podutils"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// Loss is the apparent absence of the process that drives the events of a node.
type Loss struct {
	// Reason for the conditions Claimable and Stalled.
	Reason string
	// Since is the start of the loss.
	Since time.Time
	// Message describes the cause.
	Message string
}

// Advice returns cause and remedy.
func (l Loss) Advice() string {
	return reasons.Advised(lifecyclev1alpha1.ConditionStalled, l.Reason, l.Message)
}

// AgentLoss returns nil for a healthy agent, and for a Node that does not exist. The loss starts when the controller notices it
// first: the node's clock may be wrong by more than [DeadAfter].
func AgentLoss(f Facts, now time.Time) *Loss {
	if f.Node == nil {
		return nil
	}
	loss := currentLoss(f)
	if loss == nil {
		return nil
	}
	// The loss may have started with another reason.
	if loss.Since = f.Lost.Since; loss.Since.IsZero() {
		loss.Since = now
	}
	return loss
}

func currentLoss(f Facts) *Loss {
	pod := agentPod(f.AgentPods)
	switch {
	case pod == nil:
		return &Loss{
			Reason:  lifecyclev1alpha1.ReasonAgentMissing,
			Message: fmt.Sprintf("no pod of Slipway's agent is on node %q", f.NodeName),
		}
	case !nodeReady(f.Node):
		return &Loss{
			Reason:  lifecyclev1alpha1.ReasonNodeNotReady,
			Message: fmt.Sprintf("node %q is not Ready, so its agent may be dead", f.NodeName),
		}
	case !podutils.IsPodReady(pod):
		return &Loss{
			Reason:  lifecyclev1alpha1.ReasonAgentNotReady,
			Message: fmt.Sprintf("the agent of node %q, pod %s/%s, is not Ready", f.NodeName, pod.Namespace, pod.Name),
		}
	default:
		return nil
	}
}

// agentPod returns the agent's working pod: preferably a Ready one, then the newest.
func agentPod(pods []*corev1.Pod) *corev1.Pod {
	if len(pods) == 0 {
		return nil
	}
	return slices.MaxFunc(pods, func(a, b *corev1.Pod) int {
		if aReady := podutils.IsPodReady(a); aReady != podutils.IsPodReady(b) {
			if aReady {
				return 1
			}
			return -1
		}
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

func nodeReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// claimerLoss returns nil while the claimer of the event, or its possible claimer, works.
func claimerLoss(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) *Loss {
	switch {
	case !isControllers(f, e):
		return AgentLoss(f, now)
	case f.Central:
		return nil // this controller claimed it, or its predecessor
	default:
		return &Loss{
			Reason: lifecyclev1alpha1.ReasonClaimModeChanged, Since: f.Since,
			Message: "the controller has claimed the event for a central driver, and now runs without central drivers",
		}
	}
}

// isControllers returns whether the controller has claimed the event, or would claim it.
func isControllers(f Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	if by := e.Status.ClaimedBy; by != nil {
		return by.Kind == lifecyclev1alpha1.Controller
	}
	t, found := f.Transitions[e.Spec.TransitionName]
	return f.Alone || f.Central && found && lifecycleevent.RegisteredCentrally(t)
}

// silence returns the loss of an agent that has not ended its event after the deadline or the deletion, or nil. A working agent
// needs some seconds as well: the caller compares the time.
func silence(f Facts, e *lifecyclev1alpha1.LifecycleEvent) *Loss {
	by := e.Status.ClaimedBy
	over := overSince(e)
	if by == nil || by.Kind != lifecyclev1alpha1.NodeAgent || over.IsZero() {
		return nil
	}
	return &Loss{
		Reason: lifecyclev1alpha1.ReasonAgentNotResponding, Since: over,
		Message: fmt.Sprintf("the agent of node %q is Ready, and has not ended it", f.NodeName),
	}
}

// overSince returns the earlier of the event's deadline and its deletion. Zero: neither.
func overSince(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	var over time.Time
	if e.Status.SLA != nil {
		over = e.Status.SLA.Time
	}
	if deleted := e.DeletionTimestamp; deleted != nil && (over.IsZero() || deleted.Time.Before(over)) {
		over = deleted.Time
	}
	return over
}

// overruled returns the end of an event whose agent was silent, or zero. An agent that works again has [SilentAfter] to wind
// the event up.
func overruled(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	stalled, finished := stalledBy(e), lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished)
	if stalled == nil || stalled.Reason != lifecyclev1alpha1.ReasonAgentNotResponding || finished == nil {
		return time.Time{}
	}
	return finished.LastTransitionTime.Time
}

// unattended returns whether the process that would wind the event up is dead. If not, the decision has the time of the next
// check.
func unattended(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) (bool, Decision) {
	if f.Central && isControllers(f, e) {
		return false, Decision{} // the loop of this node winds it up
	}
	if f.Node == nil {
		return true, Decision{}
	}
	var at time.Time
	if since := overruled(e); !since.IsZero() {
		at = since.Add(SilentAfter)
	}
	if loss := claimerLoss(f, e, now); loss != nil {
		if deadAt := loss.Since.Add(DeadAfter); at.IsZero() || deadAt.Before(at) {
			at = deadAt
		}
	}
	if at.IsZero() {
		return false, Decision{}
	}
	return !now.Before(at), waitUntil(at)
}
