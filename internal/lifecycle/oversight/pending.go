// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// awaitNode gives a Node that does not exist a minute. The time runs from the note,
// which a restart does not lose.
func awaitNode(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	noted := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionClaimable)
	if noted == nil || noted.Reason != lifecyclev1alpha1.ReasonNodeNotFound {
		return noteClaimable(e, lifecyclev1alpha1.ReasonNodeNotFound,
			fmt.Sprintf("spec.bindingNode: there is no Node %q; the event fails if none registers within %s", f.NodeName, NodeTimeout), now)
	}
	if failAt := noted.LastTransitionTime.Add(NodeTimeout); now.Before(failAt) {
		return waitUntil(failAt)
	}
	return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonNodeNotFound,
		fmt.Sprintf("spec.bindingNode: there is no Node %q", f.NodeName), now)
}

// controllers are the reasons of ConditionClaimable that are the controller's.
var controllers = []string{
	lifecyclev1alpha1.ReasonNodeNotFound,
	lifecyclev1alpha1.ReasonAgentMissing,
	lifecyclev1alpha1.ReasonAgentNotReady,
	lifecyclev1alpha1.ReasonNodeNotReady,
}

// noteAgent says that there is nobody to claim the event. What an agent has said there
// is replaced only when the agent's pod is gone, because then it cannot write any more:
// its token is bound to the pod. And that once: an agent whose pod is not where, or not
// labelled as, we look for it writes all the same, and the two would overwrite each
// other. No clock tells which note is newer: that of the node may be wrong.
func noteAgent(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	loss := AgentLoss(f, now)
	if loss == nil || f.Central {
		return Decision{}
	}
	said := reasonOf(e, lifecyclev1alpha1.ConditionClaimable)
	if said != "" && !slices.Contains(controllers, said) {
		if loss.Reason != lifecyclev1alpha1.ReasonAgentMissing || f.Lost.Told[e.UID] {
			return Decision{}
		}
		if deadAt := loss.Since.Add(DeadAfter); now.Before(deadAt) {
			return waitUntil(deadAt)
		}
	}
	return noteClaimable(e, loss.Reason, loss.Advice(), now)
}

func noteClaimable(e *lifecyclev1alpha1.LifecycleEvent, reason, message string, now time.Time) Decision {
	message = reasons.Advised(lifecyclev1alpha1.ConditionClaimable, reason, message)
	return note(e, lifecyclev1alpha1.ConditionClaimable, metav1.ConditionFalse, reason, message, now)
}

// letGo takes the finalizer off an event that was deleted before it was claimed, where
// its creator has set it and there is no agent to do so.
func letGo(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if !protected(e) {
		return Decision{} // somebody else's finalizer
	}
	dead, decision := unattended(f, e, now)
	if !dead {
		return decision
	}
	return do(Unprotect{Event: e})
}
