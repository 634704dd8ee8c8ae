// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

var onEventsOfOthers = map[string]attempt{
	"claim an event of another node":               {agentA, claim(ofB, ofB), byAgentEvents, agentB},
	"claim an event of another node for oneself":   {agentA, claim(ofB, ofA), byAgentEvents, controller},
	"fail an event of another node":                {agentA, fail(ofB), byAgentEvents, agentB},
	"complete an event of another node":            {agentA, complete(ofB), byAgentEvents, agentB},
	"hold an event of another node":                {agentA, protect(ofB), byAgentEvents, agentB},
	"let go of an event of another node":           {agentA, release(ofB), byAgentEvents, agentB},
	"cancel an event of another node":              {agentA, deleteClaimed(ofB), byAgentEvents, operator},
	"delete an event of another node, which ended": {agentA, deleteEnded(ofB), byAgentEvents, agentB},
	"delete all events":                            {agentA, deleteAll, byRBAC, boss},
	"change an event of another node":              {agentA, patchEvent(waitingOf(ofB), `{"spec":{"reason":"mine"}}`), byAgentEvents, operator},
	"write a status as a node":                     {nodeA, fail(ofB), byImpersonation, agentB},
	"write a status with a token of no node":       {unbound, fail(ofA), byAgentEvents, agentA},
	"delete an event with a token of no node":      {unbound, deleteEnded(ofA), byAgentEvents, agentA},
	"write a status as an operator":                {operator, fail(ofB), byRBAC, agentB},
}

// event picks an event of a scene.
type event func(*scene) *lifecyclev1alpha1.LifecycleEvent

func waitingOf(of string) event {
	return func(s *scene) *lifecyclev1alpha1.LifecycleEvent { return s.waiting[of] }
}

func claimedOf(of string) event {
	return func(s *scene) *lifecyclev1alpha1.LifecycleEvent { return s.claimed[of] }
}

func endedOf(of string) event {
	return func(s *scene) *lifecyclev1alpha1.LifecycleEvent { return s.ended[of] }
}

func claimedByTheController(s *scene) *lifecyclev1alpha1.LifecycleEvent { return s.central }

// writeStatus replaces the status of an event, as the agents do.
func writeStatus(of event, change func(*scene, *lifecyclev1alpha1.LifecycleEventStatus)) try {
	return func(ctx context.Context, s *scene, h hand) error {
		changed := of(s).DeepCopy()
		change(s, &changed.Status)
		return h.kinds.Status().Update(ctx, changed, client.DryRunAll)
	}
}

// claim claims an event of a node for the agent of a node.
func claim(of, forAgentOf string) try {
	return writeStatus(waitingOf(of), func(s *scene, status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.ClaimStatus = lifecyclev1alpha1.Claimed
		status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.NodeAgent, Identity: s.nodes[forAgentOf].Name}
	})
}

func claimForTheController(of string) try {
	return writeStatus(waitingOf(of), func(_ *scene, status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.ClaimStatus = lifecyclev1alpha1.Claimed
		status.ClaimedBy = &lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: "slipway-controller"}
	})
}

func fail(of string) try { return end(waitingOf(of), lifecyclev1alpha1.Failed) }

func complete(of string) try { return end(claimedOf(of), lifecyclev1alpha1.Succeeded) }

func end(of event, phase lifecyclev1alpha1.ClaimStatus) try {
	return writeStatus(of, func(_ *scene, status *lifecyclev1alpha1.LifecycleEventStatus) { status.ClaimStatus = phase })
}

// setFinalizers patches them as the agents do: all at once, for the version that was seen.
func setFinalizers(of event, finalizers ...string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		changed := of(s).DeepCopy()
		changed.Finalizers = finalizers
		patch := client.MergeFromWithOptions(of(s), client.MergeFromWithOptimisticLock{})
		return h.kinds.Patch(ctx, changed, patch, client.DryRunAll)
	}
}

func protect(of string) try {
	return setFinalizers(waitingOf(of), lifecyclev1alpha1.ClaimProtectionFinalizer)
}

func release(of string) try { return setFinalizers(claimedOf(of)) }

func patchEvent(of event, patch string) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Patch(ctx, of(s).DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)), client.DryRunAll)
	}
}

func deleteEvent(of event) try {
	return func(ctx context.Context, s *scene, h hand) error {
		return h.kinds.Delete(ctx, of(s).DeepCopy(), client.DryRunAll)
	}
}

func deleteClaimed(of string) try { return deleteEvent(claimedOf(of)) }

func deleteEnded(of string) try { return deleteEvent(endedOf(of)) }

func deleteAll(ctx context.Context, _ *scene, h hand) error {
	return h.kinds.DeleteAllOf(ctx, &lifecyclev1alpha1.LifecycleEvent{}, client.DryRunAll)
}
