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
	// Transition is the drain of a node whose machine is being shut down.
	Transition = "drain.slm.k8s.io-shutdown"
	// StateDraining is its first state (KEP-5683).
	StateDraining = "Draining"
	// StateShuttingDown is its last one: nothing is left to move.
	StateShuttingDown = "ShuttingDown"
	// Finalizer keeps an event until the Node says what became of it.
	Finalizer = "slipway.dev/shutdown"
)

// maxNode is how much of a node's name an event's has room for.
const maxNode = 200

// MaxDrain is how long the drain for a shutdown may take, however long the announcement says
// that logind waits: it is the machine that says so, and no guard holds the event.
const MaxDrain = time.Hour

// nameOf is the event's name for a shutdown of the node.
func nameOf(node, shutdown string) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(node + "/" + shutdown)) // never fails
	return fmt.Sprintf("shutdown-%s-%08x", node[:min(len(node), maxNode)], hash.Sum32())
}

// newEvent asks for the drain, within the time that logind waits. Guards do not hold it: they
// would not hold the machine. Whoever asks for it, whenever, asks for the same.
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

// HoldsEmpty says whether the event keeps its node empty of all pods but those of DaemonSets
// and static ones, for what is done to the machine.
func HoldsEmpty(e *lifecyclev1alpha1.LifecycleEvent) bool {
	var asked slipwayv1alpha1.DrainParameters
	if e.Status.ClaimStatus != lifecyclev1alpha1.Claimed || e.DeletionTimestamp != nil || e.Spec.Parameters == nil ||
		e.Status.ObservedGeneration != e.Generation || json.Unmarshal(e.Spec.Parameters.Raw, &asked) != nil {
		return false
	}
	return asked.Hold && apimeta.IsStatusConditionTrue(e.Status.Conditions, lifecyclev1alpha1.ConditionTargetsReached) &&
		(len(asked.Targets) == 0 || slices.ContainsFunc(asked.Targets, coversAll))
}

func coversAll(t slipwayv1alpha1.DrainTarget) bool {
	anyPriority := t.PodPriority == nil || *t.PodPriority == math.MaxInt32
	return t.PodType == slipwayv1alpha1.PodTypeDefault && anyPriority &&
		(t.PodSelector == nil || len(t.PodSelector.MatchLabels)+len(t.PodSelector.MatchExpressions) == 0)
}
