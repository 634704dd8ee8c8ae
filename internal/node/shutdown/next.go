// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// Facts are the controller's facts about one node.
type Facts struct {
	NodeName string
	// Node is nil if it does not exist.
	Node *corev1.Node
	// Events are bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
}

// Step is one step. Repeating it is harmless.
type Step interface{ isStep() }

type (
	// Create creates the event of the drain.
	Create struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Cancel deletes an unnecessary event.
	Cancel struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Note records the outcome of the drain on the Node.
	Note struct{ Drain Drain }
	// LetGo removes Slipway's finalizer from an event whose outcome is recorded or irrelevant.
	LetGo struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Return undoes the drain, and then removes its record from the Node.
	Return struct {
		// UID of the event that the Node was cordoned for; empty without a cordon.
		UID types.UID
		// Conditions of the Node.
		Conditions []corev1.NodeCondition
		// Forget are annotations of the Node.
		Forget []string
		// Ended is [ReasonFinished] or [ReasonUnfinished]; empty after a canceled shutdown.
		Ended string
	}
)

func (Create) isStep() {}
func (Cancel) isStep() {}
func (Note) isStep()   {}
func (LetGo) isStep()  {}
func (Return) isStep() {}

// Next returns the controller's next step for the node; nil without a step. An event of a shutdown ends before another
// step begins.
func Next(f Facts, now time.Time) Step {
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if slices.Contains(e.Finalizers, Finalizer) {
			return wind(f, e)
		}
	}
	if f.Node == nil {
		return nil
	}
	said, drain := AnnouncedOn(f.Node), DrainedOn(f.Node)
	switch {
	case isCurrent(f.Node, said) && drain == nil:
		return begin(f, *said)
	case isCurrent(f.Node, said) && drain.Shutdown == said.ID():
		return nil // the machine acts next
	case isCurrent(f.Node, said): // the record is about a canceled shutdown
		return giveBack(f, nil, drain, now)
	case said == nil && drain == nil:
		return nil
	case said != nil && (f.Node.Status.NodeInfo.BootID == "" || !isReady(f.Node)): // until the machine has booted
		return nil
	default:
		return giveBack(f, said, drain, now)
	}
}

// wind ends an event of a shutdown, and records its outcome.
func wind(f Facts, e *lifecyclev1alpha1.LifecycleEvent) Step {
	ended := e.Status.ClaimStatus.Terminal()
	said, drain := AnnouncedOn(f.Node), DrainedOn(f.Node)
	switch {
	case f.Node == nil && ended, !ended && e.DeletionTimestamp != nil && e.Status.ClaimedBy == nil:
		return LetGo{e} // no node, or no drain, to return
	case f.Node == nil:
		return nil // oversight ends the events of a deleted node
	case ended && drain != nil && drain.UID == e.UID:
		return LetGo{e}
	case ended:
		return Note{Drain{Shutdown: e.Annotations[Annotation], Event: e.Name, UID: e.UID, Outcome: e.Status.ClaimStatus}}
	case e.DeletionTimestamp != nil:
		return nil
	case isCurrent(f.Node, said) && e.Annotations[Annotation] == said.ID() && (e.Status.ClaimedBy != nil || emptiedBy(f) == nil):
		return nil
	default:
		// The shutdown was canceled, or another event has emptied the node before this one was claimed. After the end of
		// this event, begin records the other one.
		return Cancel{e}
	}
}

// begin starts the drain, unless a maintenance has drained the node and shuts the machine down.
func begin(f Facts, said Announcement) Step {
	if e := emptiedBy(f); e != nil {
		return Note{Drain{Shutdown: said.ID(), Event: e.Name, Outcome: lifecyclev1alpha1.Succeeded}}
	}
	return Create{newEvent(f.NodeName, said)}
}

// emptiedBy returns the event that keeps the node empty; nil without such an event.
func emptiedBy(f Facts) *lifecyclev1alpha1.LifecycleEvent {
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if HoldsEmpty(e) {
			return e
		}
	}
	return nil
}

// isCurrent reports whether the announcement is about the Node's current boot.
func isCurrent(node *corev1.Node, said *Announcement) bool {
	return said != nil && node != nil && said.BootID == node.Status.NodeInfo.BootID
}

func isReady(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// giveBack undoes the changes of a shutdown to the Node, and its cordon only. said is nil after a canceled shutdown.
func giveBack(f Facts, said *Announcement, drain *Drain, now time.Time) Return {
	var r Return
	if said != nil {
		r.Forget = append(r.Forget, Annotation)
		ended := verdict(*said, drain, now)
		r.Conditions, r.Ended = append(r.Conditions, ended), ended.Reason
	}
	if drain != nil {
		r.Forget = append(r.Forget, DrainAnnotation)
		r.UID = own(f, *drain)
		r.Conditions = append(r.Conditions, returned(f.Node, r.UID, now)...)
	}
	return r
}

// own returns the UID of the recorded event, if it was created for that shutdown of the node; otherwise nothing. The
// record alone proves nothing: third parties write Nodes as well.
func own(f Facts, drain Drain) types.UID {
	name := nameOf(f.NodeName, drain.Shutdown)
	if drain.UID == "" || drain.Event != name {
		return ""
	}
	for _, e := range f.Events {
		if e.UID == drain.UID && (e.Name != name || e.Spec.TransitionName != Transition) {
			return ""
		}
	}
	for _, owner := range cordons.On(f.Node).Owners {
		if owner.UID == drain.UID && owner.Event != name {
			return ""
		}
	}
	return drain.UID
}

// verdict returns the result of a shutdown whose machine has booted since.
func verdict(said Announcement, drain *Drain, now time.Time) corev1.NodeCondition {
	switch {
	case drain == nil || drain.Shutdown != said.ID():
		return condition(corev1.ConditionFalse, ReasonUnfinished, "the machine went down before the node was drained", now)
	case drain.Outcome == lifecyclev1alpha1.Succeeded:
		return condition(corev1.ConditionFalse, ReasonFinished,
			fmt.Sprintf("the node was drained by event %s before the machine went down", drain.Event), now)
	default:
		return condition(corev1.ConditionFalse, ReasonUnfinished,
			fmt.Sprintf("the machine went down before the node was drained: event %s ended as %s", drain.Event, drain.Outcome), now)
	}
}

// returned returns the Node's conditions about the drain with the values of a returned node.
func returned(node *corev1.Node, uid types.UID, now time.Time) (conditions []corev1.NodeCondition) {
	if uid == "" {
		return nil
	}
	for _, c := range node.Status.Conditions {
		status, reason := c.Status, c.Reason
		text := fmt.Sprintf("Lifecycle Transition '%s'", Transition)
		isDrain := c.Type == corev1.NodeDrained || c.Type == corev1.NodeDrainInProgress
		switch {
		case isDrain && strings.Contains(c.Message, fmt.Sprintf("(UID %s)", uid)):
			c.Status, c.Reason, c.Message = corev1.ConditionFalse, lifecyclev1alpha1.NodeReasonNodeReturned, ""
		case c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition && strings.HasPrefix(c.Message, text):
			c.Status, c.Reason, c.Message = corev1.ConditionTrue, lifecyclev1alpha1.StateMaintenanceComplete, text
		default:
			continue
		}
		c.LastHeartbeatTime = metav1.NewTime(now)
		if c.Status != status || !isDrain && c.Reason != reason {
			c.LastTransitionTime = metav1.NewTime(now)
		}
		conditions = append(conditions, c)
	}
	return conditions
}
