// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"cmp"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// headline describes the state of the node in a sentence.
func headline(f Facts, r Report, events []*event) string {
	if len(events) == 0 {
		return ofNode(f, r.State)
	}
	e := events[0]
	switch {
	case e.Status.ClaimStatus.Terminal():
		return fmt.Sprintf("%s: LifecycleEvent %s has ended as %s", f.NodeName, e.Name, e.Status.ClaimStatus)
	case pending(e):
		return fmt.Sprintf("%s waits: LifecycleEvent %s (%s) is not claimed yet", f.NodeName, e.Name, e.Spec.TransitionName)
	case lifecycleevent.HasForeignClaim(e):
		return fmt.Sprintf("%s %s by %s (LifecycleEvent %s)", f.NodeName, doing(f, e), lifecycleevent.ClaimerName(e), e.Name)
	case e.DeletionTimestamp != nil:
		return fmt.Sprintf("%s %s, and LifecycleEvent %s is being canceled%s", f.NodeName, doing(f, e), e.Name, progress(e))
	case r.HeldUp():
		return fmt.Sprintf("%s %s and is blocked%s (LifecycleEvent %s)", f.NodeName, doing(f, e), progress(e), e.Name)
	default:
		return fmt.Sprintf("%s %s and is moving%s (LifecycleEvent %s)", f.NodeName, doing(f, e), progress(e), e.Name)
	}
}

// doing describes the action of an event, by the start state of its transition.
func doing(f Facts, e *event) string {
	start := ""
	if d := e.Status.Driver; d != nil {
		start = d.Start
	} else if lct := f.transition(e.Spec.TransitionName); lct != nil {
		start = lct.Spec.Start
	}
	return cmp.Or(state.Doing(start), "goes through "+e.Spec.TransitionName)
}

func progress(e *event) string {
	p := e.Status.Progress
	if p == nil || p.Total == 0 {
		return ""
	}
	return fmt.Sprintf(": %d of %d done", p.Done, p.Total)
}

// ofNode is the headline of a node that has no event.
func ofNode(f Facts, now state.State) string {
	none := "no LifecycleEvent is bound to it"
	if f.unread(Events) {
		none = "whether a LifecycleEvent is bound to it could not be read"
	}
	var is string
	switch {
	case f.Node == nil && f.unread(TheNode):
		return fmt.Sprintf("%s: the Node could not be read; %s", f.NodeName, none)
	case f.Node == nil:
		return fmt.Sprintf("%s: there is no such Node, and %s", f.NodeName, none)
	case now == state.GoingDown:
		is = "goes down: its machine is shutting down, or is off, and the node returns by itself when the machine has booted"
	case now == state.InService:
		is = "is in service"
	case now == state.Drained:
		is = "is drained, and cordoned until it is uncordoned"
	default:
		is = "is cordoned " + cordonedBy(f.Node)
	}
	return fmt.Sprintf("%s %s: %s%s", f.NodeName, is, none, lastState(f.Node))
}

// transitionOf returns the condition of the node about its last event, or nil.
func transitionOf(node *corev1.Node) *corev1.NodeCondition {
	return state.NodeCondition(node, lifecyclev1alpha1.NodeConditionLifecycleTransition)
}

// changed returns the time of the last change of the condition. A new reason does not change
// LastTransitionTime. Slipway writes the condition only when it changes, so LastHeartbeatTime
// is the time of the change.
func changed(c *corev1.NodeCondition) metav1.Time {
	if c.LastTransitionTime.Before(&c.LastHeartbeatTime) {
		return c.LastHeartbeatTime
	}
	return c.LastTransitionTime
}

// lastState returns the end of the last event.
func lastState(node *corev1.Node) string {
	c := transitionOf(node)
	if c == nil {
		return ""
	}
	at := changed(c).UTC().Format(time.RFC3339)
	if c.Status == corev1.ConditionTrue {
		return fmt.Sprintf("; it reached %s at %s", c.Reason, at)
	}
	return fmt.Sprintf("; the last transition ended with %s at %s: %s", c.Reason, at, c.Message)
}

func cordonedBy(node *corev1.Node) string {
	if owners := cordons.On(node).Owners; len(owners) > 0 {
		last := owners[len(owners)-1]
		return fmt.Sprintf("by Slipway, for LifecycleEvent %s since %s", last.Event, last.Since.UTC().Format(time.RFC3339))
	}
	if found := cordons.By(node); found.By != "" {
		return fmt.Sprintf("by %q since %s", found.By, found.Since.UTC().Format(time.RFC3339))
	}
	return "by another party"
}

// next returns the possible actions for a node that has no event.
func next(f Facts, now state.State) []Remedy {
	drain := Remedy{"take it out of service", commandOf("kubectl slipway drain %s", f.NodeName)}
	back := Remedy{"return it to service", commandOf("kubectl slipway uncordon %s", f.NodeName)}
	switch now {
	case state.GoingDown:
		return []Remedy{{"wait until its machine has booted, or boot it; this shows when the node is Ready", commandOf("kubectl get node %s", f.NodeName)}}
	case state.InService:
		return []Remedy{drain}
	case state.Drained:
		return []Remedy{back}
	case state.Cordoned, state.Draining:
		if len(cordons.On(f.Node).Owners) > 0 {
			return []Remedy{back, drain}
		}
		return []Remedy{
			{"uncordon it, if the party that cordoned it agrees", commandOf("kubectl uncordon %s", f.NodeName)}, drain,
		}
	default:
		return []Remedy{{"see which nodes there are", "kubectl get nodes"}}
	}
}
