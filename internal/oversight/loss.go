// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Loss is that whoever drives events of a node seems not to be there.
type Loss struct {
	// Reason is that of the conditions Claimable and Stalled.
	Reason string
	// Since when.
	Since time.Time
	// Message says what is the matter, and Help what helps.
	Message, Help string
}

// Advice is what is the matter, and what helps.
func (l Loss) Advice() string { return l.Message + ": " + l.Help }

// AgentLoss is nil while the node's agent is well, and where there is no Node.
func AgentLoss(f Facts, now time.Time) *Loss {
	if f.Node == nil {
		return nil
	}
	loss := currentLoss(f, now)
	// It may have been lost in another way before.
	if loss != nil && !f.Lost.Since.IsZero() && f.Lost.Since.Before(loss.Since) {
		loss.Since = f.Lost.Since
	}
	return loss
}

func currentLoss(f Facts, now time.Time) *Loss {
	pod := agentPod(f.AgentPods)
	if pod == nil {
		return &Loss{
			lifecyclev1alpha1.ReasonAgentMissing, now,
			fmt.Sprintf("no pod of Slipway's agent is on node %q", f.NodeName),
			"its DaemonSet must be installed, and tolerate the node's taints",
		}
	}
	if ready, since := nodeReady(f.Node); !ready {
		return &Loss{
			lifecyclev1alpha1.ReasonNodeNotReady, since,
			fmt.Sprintf("node %q is not Ready, so its agent may be dead", f.NodeName),
			"see kubectl describe node " + f.NodeName,
		}
	}
	if ready, since := podReady(pod); !ready {
		return &Loss{
			lifecyclev1alpha1.ReasonAgentNotReady, since,
			fmt.Sprintf("the agent of node %q is not Ready", f.NodeName),
			fmt.Sprintf("see kubectl -n %s describe pod %s", pod.Namespace, pod.Name),
		}
	}
	return nil
}

// agentPod is the one of the agents' pods that works: one that is Ready before the
// others, then the newest.
func agentPod(pods []*corev1.Pod) *corev1.Pod {
	if len(pods) == 0 {
		return nil
	}
	return slices.MaxFunc(pods, func(a, b *corev1.Pod) int {
		aReady, _ := podReady(a)
		bReady, _ := podReady(b)
		if aReady != bReady {
			if aReady {
				return 1
			}
			return -1
		}
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
}

func podReady(pod *corev1.Pod) (ready bool, since time.Time) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue, orCreation(c.LastTransitionTime, pod)
		}
	}
	return false, pod.CreationTimestamp.Time
}

func nodeReady(node *corev1.Node) (ready bool, since time.Time) {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue, orCreation(c.LastTransitionTime, node)
		}
	}
	return false, node.CreationTimestamp.Time
}

func orCreation(t metav1.Time, object metav1.Object) time.Time {
	if t.IsZero() {
		return object.GetCreationTimestamp().Time
	}
	return t.Time
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
			lifecyclev1alpha1.ReasonClaimModeChanged, f.Since,
			"the event was claimed in central mode, and the controller does not run in that mode now",
			"delete the event to cancel it, or see the controller's --claim-mode",
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
		lifecyclev1alpha1.ReasonAgentNotResponding, over,
		fmt.Sprintf("the agent of node %q is Ready, and has not ended it", f.NodeName),
		"see the log of the agent's pod, which may lack rights, or restart it",
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
	stalled, finished := stalledBy(e), condition(e, lifecyclev1alpha1.ConditionFinished)
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
