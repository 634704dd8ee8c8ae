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

// Loss is that whoever drives events of a node seems not to be there.
type Loss struct {
	// Reason is that of the conditions Claimable and Stalled.
	Reason string
	// Since when.
	Since time.Time
	// Message says what is the matter.
	Message string
}

// Advice is what is the matter, and what helps.
func (l Loss) Advice() string {
	return reasons.Advised(lifecyclev1alpha1.ConditionStalled, l.Reason, l.Message)
}

// AgentLoss is nil while the node's agent is well, and where there is no Node. It counts
// from when the controller has seen it first, not from when the node says: that is
// the node's clock, which may be wrong by more than [DeadAfter].
func AgentLoss(f Facts, now time.Time) *Loss {
	if f.Node == nil {
		return nil
	}
	loss := currentLoss(f)
	if loss == nil {
		return nil
	}
	// It may have been lost in another way before.
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

// agentPod is the one of the agents' pods that works: one that is Ready before the
// others, then the newest.
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

// claimerLoss is nil while whoever claimed the event, or may claim it, is there.
func claimerLoss(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) *Loss {
	switch by := e.Status.ClaimedBy; {
	case by == nil && f.Central:
		return nil
	case by == nil || by.Kind == lifecyclev1alpha1.NodeAgent:
		return AgentLoss(f, now)
	case f.Central:
		return nil // it is this controller, or the one before it
	default:
		return &Loss{
			Reason: lifecyclev1alpha1.ReasonClaimModeChanged, Since: f.Since,
			Message: "the event was claimed in central mode, and the controller does not run in that mode now",
		}
	}
}

// silence is that the agent of a claimed event leaves it alone although it is over,
// since when that is so; nil while it is not over, and where no agent has claimed it.
// Whether that is long enough is the caller's to judge: an agent that works is silent
// for some seconds.
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

// overSince is when the event's deadline passes, or when it was deleted, if that was
// before. Zero: neither.
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

// overruled is since when an event has ended whose agent was silent; zero for any other.
// One that came to itself, and has ended it after all, has [SilentAfter] to wind it up.
func overruled(e *lifecyclev1alpha1.LifecycleEvent) time.Time {
	stalled, finished := stalledBy(e), lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionFinished)
	if stalled == nil || stalled.Reason != lifecyclev1alpha1.ReasonAgentNotResponding || finished == nil {
		return time.Time{}
	}
	return finished.LastTransitionTime.Time
}

// unattended says whether whoever would wind the event up is dead. If not, the
// decision says when that has to be asked again.
func unattended(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) (bool, Decision) {
	byController := e.Status.ClaimedBy == nil || e.Status.ClaimedBy.Kind == lifecyclev1alpha1.Controller
	if f.Central && byController {
		return false, Decision{} // the loop of this node does
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
