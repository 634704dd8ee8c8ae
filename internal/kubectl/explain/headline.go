// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// headline is how the node is, in a word and in a sentence.
func headline(f Facts, events []*event, causes []Cause) (State, string) {
	if len(events) == 0 {
		return ofNode(f)
	}
	e := events[0]
	does := doing(f, e)
	held := func(c Cause) bool { return c.Event == e.Name && !c.Passes && c.Place != reasons.PodsLeft }
	switch {
	case e.Status.ClaimStatus.Terminal():
		return Ended, fmt.Sprintf("%s: LifecycleEvent %s has ended as %s", f.NodeName, e.Name, e.Status.ClaimStatus)
	case pending(e):
		return Waiting, fmt.Sprintf("%s waits: LifecycleEvent %s (%s) is not claimed yet", f.NodeName, e.Name, e.Spec.TransitionName)
	case e.DeletionTimestamp != nil:
		return Moving, fmt.Sprintf("%s %s, and LifecycleEvent %s is being canceled%s", f.NodeName, does, e.Name, progress(e))
	case slices.ContainsFunc(causes, held):
		return Blocked, fmt.Sprintf("%s %s and is held up%s (LifecycleEvent %s)", f.NodeName, does, progress(e), e.Name)
	default:
		return Moving, fmt.Sprintf("%s %s and is moving%s (LifecycleEvent %s)", f.NodeName, does, progress(e), e.Name)
	}
}

// doing is what an event does with the node, by the state that it begins with.
func doing(f Facts, e *event) string {
	start := ""
	if d := e.Status.Driver; d != nil {
		start = d.Start
	} else if lct := f.transition(e.Spec.TransitionName); lct != nil {
		start = lct.Spec.Start
	}
	switch start {
	case "drain-started":
		return "is being drained"
	case "Draining":
		return "is being drained before its machine goes down"
	case "uncordoning":
		return "is being returned"
	default:
		return "goes through " + e.Spec.TransitionName
	}
}

func progress(e *event) string {
	p := e.Status.Progress
	if p == nil || p.Total == 0 {
		return ""
	}
	return fmt.Sprintf(": %d of %d done", p.Done, p.Total)
}

// ofNode is for a node without events.
func ofNode(f Facts) (State, string) {
	none := "no LifecycleEvent is bound to it"
	if f.unread(Events) {
		none = "whether a LifecycleEvent is bound to it could not be read"
	}
	switch {
	case f.Node == nil && f.unread(TheNode):
		return Unknown, fmt.Sprintf("%s: the Node could not be read; %s", f.NodeName, none)
	case f.Node == nil:
		return Unknown, fmt.Sprintf("%s: there is no such Node, and %s", f.NodeName, none)
	case goesDown(f.Node):
		return GoingDown, fmt.Sprintf("%s goes down: its machine is being shut down, or is off, and it returns by itself when that has booted: %s%s",
			f.NodeName, none, lastState(f.Node))
	case !f.Node.Spec.Unschedulable:
		return InService, fmt.Sprintf("%s is in service: %s%s", f.NodeName, none, lastState(f.Node))
	case reached(f.Node, "drain-complete"):
		return Drained, fmt.Sprintf("%s is drained, and cordoned until it is returned: %s%s", f.NodeName, none, lastState(f.Node))
	default:
		return Cordoned, fmt.Sprintf("%s is cordoned %s: %s%s", f.NodeName, cordonedBy(f.Node), none, lastState(f.Node))
	}
}

// What a shutdown of its machine leaves on a Node until it has booted; package shutdown, which
// needs this one, says more.
const (
	shutdownAnnotation = "slipway.dev/shutdown"
	stateShuttingDown  = "ShuttingDown"
)

// goesDown says whether the machine of a node is being shut down, or is off after that.
func goesDown(node *corev1.Node) bool {
	return node.Annotations[shutdownAnnotation] != "" || node.Spec.Unschedulable && reached(node, stateShuttingDown)
}

func transitionOf(node *corev1.Node) *corev1.NodeCondition {
	for i, c := range node.Status.Conditions {
		if c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition {
			return &node.Status.Conditions[i]
		}
	}
	return nil
}

// changed is when the condition came to say what it does. The time of its transition is
// that of its status alone, and another state has the same; it is written only when it says
// something else, so that of its heartbeat is.
func changed(c *corev1.NodeCondition) metav1.Time {
	if c.LastTransitionTime.Before(&c.LastHeartbeatTime) {
		return c.LastHeartbeatTime
	}
	return c.LastTransitionTime
}

func reached(node *corev1.Node, state string) bool {
	c := transitionOf(node)
	return c != nil && c.Status == corev1.ConditionTrue && c.Reason == state
}

// lastState says how the last event ended.
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
	if owners := cordons.NotedOn(node).Owners; len(owners) > 0 {
		last := owners[len(owners)-1]
		return fmt.Sprintf("by Slipway, for LifecycleEvent %s since %s", last.Event, last.Since.UTC().Format(time.RFC3339))
	}
	if found := cordons.By(node); found.By != "" {
		return fmt.Sprintf("by %q since %s", found.By, found.Since.UTC().Format(time.RFC3339))
	}
	return "by somebody else"
}

// next is what can be done with a node that has no events.
func next(f Facts, state State) []Remedy {
	drain := Remedy{"take it out of service", commandOf("kubectl slipway drain %s", f.NodeName)}
	back := Remedy{"put it back into service", commandOf("kubectl slipway uncordon %s", f.NodeName)}
	switch state {
	case GoingDown:
		return []Remedy{{"wait until its machine has booted, or boot it: see here when the node is Ready", commandOf("kubectl get node %s", f.NodeName)}}
	case InService:
		return []Remedy{drain}
	case Drained:
		return []Remedy{back}
	case Cordoned:
		if len(cordons.NotedOn(f.Node).Owners) > 0 {
			return []Remedy{back, drain}
		}
		return []Remedy{
			{"put it back, when those agree who have cordoned it", commandOf("kubectl uncordon %s", f.NodeName)}, drain,
		}
	default:
		return []Remedy{{"see which nodes there are", "kubectl get nodes"}}
	}
}
