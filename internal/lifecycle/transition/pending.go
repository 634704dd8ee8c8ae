// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// admit claims the oldest event that can be claimed, and writes on the others why they
// wait. An event that waits for something of its own delays no other.
func admit(f *Facts, events []*lifecyclev1alpha1.LifecycleEvent, now time.Time) Decision {
	decision := Decision{}
	first := occupant(events)
	awaited := map[string]bool{} // drivers that an older event is about to use
	for _, e := range events {
		if lifecycleevent.Phase(e) != lifecyclev1alpha1.Pending || e.DeletionTimestamp != nil || !concerns(f, e) {
			continue
		}
		decision = decision.Or(admitOne(f, e, first, awaited, now))
	}
	return decision
}

// admitOne decides for one Pending event.
func admitOne(f *Facts, e, first *lifecyclev1alpha1.LifecycleEvent, awaited map[string]bool, now time.Time) Decision {
	if fromOldHome(f, e) {
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonHomeChanged, homeChangedMessage, now)
	}
	if message := parametersTooLarge(e); message != "" {
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonInvalidParameters, message, now)
	}
	if f.Node == nil {
		return Decision{} // it may register later; the controller reports the missing Node
	}
	if len(e.Spec.Gates) > 0 {
		return note(e, lifecyclev1alpha1.ReasonGated, "spec.gates: waiting for "+gateNames(e.Spec.Gates), now)
	}
	t, found := f.Transitions[e.Spec.TransitionName]
	if !found {
		return note(e, lifecyclev1alpha1.ReasonTransitionNotFound,
			fmt.Sprintf("spec.transitionName: there is no LifecycleTransition %q", e.Spec.TransitionName), now)
	}
	if why := doesNotApply(t, f.Node); why != "" {
		return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonTransitionDoesNotApply,
			fmt.Sprintf("spec.bindingNode: LifecycleTransition %q does not apply to node %q: %s", t.Name, f.NodeName, why), now)
	}
	driver := f.Drivers(t.Spec.Driver)
	if !driver.Registered {
		return note(e, lifecyclev1alpha1.ReasonDriverMissing,
			fmt.Sprintf("driver %q is not registered %s", t.Spec.Driver, f.place()), now)
	}
	central := lifecycleevent.RegisteredCentrally(t)
	if f.Central == nil && central {
		return note(e, lifecyclev1alpha1.ReasonDriverRegisteredTwice,
			fmt.Sprintf("driver %q is registered on node %q, and also with the controller", t.Spec.Driver, f.NodeName), now)
	}
	if f.Central != nil && !central {
		return Decision{} // first the transition tells the agents
	}
	foreign := first != nil && lifecycleevent.HasForeignClaim(first)
	// The machine of a shutdown goes down in any case, and an emergency does not wait.
	if foreign && e.Annotations[shutdown.Annotation] == "" && !lifecycleevent.BreaksGlass(e) {
		return note(e, lifecyclev1alpha1.ReasonWaitingForTurn,
			fmt.Sprintf("LifecycleEvent %q, claimed by %s, comes first", first.Name, lifecycleevent.ClaimerName(first)), now)
	}
	if first != nil && !foreign || awaited[t.Spec.Driver] {
		return note(e, lifecyclev1alpha1.ReasonWaitingForTurn, "another event of this node comes first", now)
	}
	awaited[t.Spec.Driver] = true
	if driver.Checking != e.UID {
		return do(CheckDriver{Driver: t.Spec.Driver, Event: e})
	}
	if !driver.Ready {
		return awaitReady(f, e, t.Spec.Driver, driver.CheckingSince, now)
	}
	return do(WriteStatus{Purpose: PurposeClaim, Event: e, Status: claimed(f, e, t, now)})
}

// awaitReady gives a registered driver [ReadinessTimeout] to answer. The time runs from the
// condition, so a restart does not lose it.
func awaitReady(f *Facts, e *lifecyclev1alpha1.LifecycleEvent, driver string, since, now time.Time) Decision {
	noted := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionClaimable)
	if noted == nil || noted.Reason != lifecyclev1alpha1.ReasonDriverNotReady {
		if noteAt := since.Add(notReadyAfter); now.Before(noteAt) {
			return waitUntil(noteAt)
		}
		return note(e, lifecyclev1alpha1.ReasonDriverNotReady,
			fmt.Sprintf("driver %q is registered %s but does not answer", driver, f.place()), now)
	}
	failAt := noted.LastTransitionTime.Add(ReadinessTimeout)
	if now.Before(failAt) {
		return waitUntil(failAt)
	}
	return finish(e, lifecyclev1alpha1.Failed, lifecyclev1alpha1.ReasonDriverNotReady,
		fmt.Sprintf("driver %q is registered %s but did not answer for %s", driver, f.place(), ReadinessTimeout), now)
}

// claimed returns the status of e after the claim under t.
func claimed(f *Facts, e *lifecyclev1alpha1.LifecycleEvent, t *lifecyclev1alpha1.LifecycleTransition, now time.Time) lifecyclev1alpha1.LifecycleEventStatus {
	status := e.Status.DeepCopy()
	status.ClaimStatus = lifecyclev1alpha1.Claimed
	status.ClaimedBy = new(f.Claimer)
	status.Driver = &lifecyclev1alpha1.ClaimedDriver{Name: t.Spec.Driver, Start: t.Spec.Start, End: t.Spec.End}
	sla := t.Spec.SLA
	if e.Spec.SLA != nil {
		sla = e.Spec.SLA
	}
	if sla != nil {
		status.SLA = &metav1.Time{Time: deadline(now, sla.Duration)}
	}
	lifecycleevent.SetCondition(status, e, lifecyclev1alpha1.ConditionClaimable, metav1.ConditionTrue, lifecyclev1alpha1.ReasonClaimed, "", now)
	lifecycleevent.SetCondition(status, e, lifecyclev1alpha1.ConditionDriverAvailable, metav1.ConditionTrue, lifecyclev1alpha1.ReasonDriverRegistered, "", now)
	return *status
}

// note writes the obstacle to the claim of e into its condition Claimable.
func note(e *lifecyclev1alpha1.LifecycleEvent, reason, message string, now time.Time) Decision {
	message = reasons.Advised(lifecyclev1alpha1.ConditionClaimable, reason, message)
	return writeIfChanged(e, PurposeNote, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		lifecycleevent.SetCondition(status, e, lifecyclev1alpha1.ConditionClaimable, metav1.ConditionFalse, reason, message, now)
	})
}

// Applies returns whether t is for the node.
func Applies(t *lifecyclev1alpha1.LifecycleTransition, node *corev1.Node) bool {
	return doesNotApply(t, node) == ""
}

// doesNotApply returns the cause if t does not apply to the node, or "".
func doesNotApply(t *lifecyclev1alpha1.LifecycleTransition, node *corev1.Node) string {
	switch {
	case t.Spec.AllNodes != nil && *t.Spec.AllNodes:
		return ""
	case t.Spec.NodeName != "":
		if t.Spec.NodeName == node.Name {
			return ""
		}
		return fmt.Sprintf("its spec.nodeName is %q", t.Spec.NodeName)
	case t.Spec.NodeSelector != nil:
		selector, err := nodeaffinity.NewNodeSelector(t.Spec.NodeSelector)
		if err != nil {
			return fmt.Sprintf("its spec.nodeSelector is not valid: %v", err)
		}
		if selector.Match(node) {
			return ""
		}
		return "its spec.nodeSelector does not match the node's labels"
	default:
		return "it names no nodes"
	}
}

const homeChangedMessage = "the event is older than the move of the API to the group that it is in now: " +
	"it is not acted on; create it again if it is still wanted"

func fromOldHome(f *Facts, e *lifecyclev1alpha1.LifecycleEvent) bool {
	return e.CreationTimestamp.Time.Before(f.HomeSince)
}

func parametersTooLarge(e *lifecyclev1alpha1.LifecycleEvent) string {
	if e.Spec.Parameters == nil || len(e.Spec.Parameters.Raw) <= lifecyclev1alpha1.MaxParametersBytes {
		return ""
	}
	return fmt.Sprintf("spec.parameters: %d bytes as JSON, at most %d are allowed",
		len(e.Spec.Parameters.Raw), lifecyclev1alpha1.MaxParametersBytes)
}

func gateNames(gates []lifecyclev1alpha1.Gate) string {
	names := make([]string, len(gates))
	for i, g := range gates {
		names[i] = g.Name
	}
	return strings.Join(names, ", ")
}
