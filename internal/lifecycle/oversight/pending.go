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

// awaitNode gives a Node that does not exist [NodeTimeout]. The time starts with the condition, so a restart does not lose it.
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

// controllers lists the reasons of ConditionClaimable that only the controller writes.
var controllers = []string{
	lifecyclev1alpha1.ReasonNodeNotFound,
	lifecyclev1alpha1.ReasonAgentMissing,
	lifecyclev1alpha1.ReasonAgentNotReady,
	lifecyclev1alpha1.ReasonNodeNotReady,
}

// noteAgent records the absence of an agent that could claim the event. It replaces the note of an agent only after that
// agent's pod was deleted: the token is bound to the pod, so the agent can no longer write. It does so once: an agent whose pod
// has another namespace or other labels still writes, and the two would overwrite each other. Times do not decide, because the
// node's clock may be wrong.
func noteAgent(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	loss := AgentLoss(f, now)
	if loss == nil || isControllers(f, e) {
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

// letGo removes the claim finalizer from an event that was deleted before its claim, if its creator has set the finalizer and no
// agent works.
func letGo(f Facts, e *lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	if !protected(e) {
		return Decision{} // another finalizer holds it
	}
	dead, decision := unattended(f, e, now)
	if !dead {
		return decision
	}
	return do(Unprotect{Event: e})
}
