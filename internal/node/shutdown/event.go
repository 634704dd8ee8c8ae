// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const (
	// Transition is the drain before the shutdown of a machine.
	Transition = "drain.slm.k8s.io-shutdown"
	// StateDraining is its first state (KEP-5683).
	StateDraining = "Draining"
	// StateShuttingDown is its last state: all pods have left.
	StateShuttingDown = "ShuttingDown"
	// Finalizer keeps an event until the Node records its outcome.
	Finalizer = "slipway.dev/shutdown"
	// MaxDrain limits the drain for a shutdown. The machine determines the announced time, and no guard limits the event.
	MaxDrain = time.Hour
	// maxNode limits the node's name in the name of an event.
	maxNode = 200
)

// nameOf returns the name of the event for a shutdown of the node.
func nameOf(node, shutdown string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(node + "/" + shutdown)) // never fails
	return fmt.Sprintf("shutdown-%s-%08x", node[:min(len(node), maxNode)], hash.Sum32())
}

// newEvent returns the event of the drain, with logind's delay as the deadline. It allows the drain against guards, which
// cannot stop the machine. It sets no parameters on purpose: the machine goes down with all its pods, so the
// drain has no targets to choose and no end state to hold, and the settings of the driver and DrainRules apply. All
// processes return the same event for a shutdown.
func newEvent(node string, said Announcement) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{
			Name:        nameOf(node, said.ID()),
			Annotations: map[string]string{Annotation: said.ID()},
			Finalizers:  []string{Finalizer},
		},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{
			TransitionName: Transition, BindingNode: node,
			SLA:    &metav1.Duration{Duration: said.Length()},
			Allow:  []lifecyclev1alpha1.Guard{lifecyclev1alpha1.GuardLastSchedulableNode, lifecyclev1alpha1.GuardSecondControlPlaneNode},
			Reason: ReasonNodeShutdown,
		},
	}
}

// HoldsEmpty reports whether the event keeps its node free of all pods except those of DaemonSets and static ones.
func HoldsEmpty(e *lifecyclev1alpha1.LifecycleEvent) bool {
	var parameters slipwayv1alpha1.DrainParameters
	if e.Status.ClaimStatus != lifecyclev1alpha1.Claimed || e.DeletionTimestamp != nil || e.Spec.Parameters == nil ||
		e.Status.ObservedGeneration != e.Generation || json.Unmarshal(e.Spec.Parameters.Raw, &parameters) != nil {
		return false
	}
	return parameters.Hold && apimeta.IsStatusConditionTrue(e.Status.Conditions, lifecyclev1alpha1.ConditionTargetsReached) &&
		(len(parameters.Targets) == 0 || slices.ContainsFunc(parameters.Targets, coversAll))
}

func coversAll(t slipwayv1alpha1.DrainTarget) bool {
	anyPriority := t.PodPriority == nil || *t.PodPriority == math.MaxInt32
	return t.PodType == slipwayv1alpha1.PodTypeDefault && anyPriority &&
		(t.PodSelector == nil || len(t.PodSelector.MatchLabels)+len(t.PodSelector.MatchExpressions) == 0)
}
