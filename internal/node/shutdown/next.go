// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
)

// Facts is all that the controller knows of one node.
type Facts struct {
	NodeName string
	// Node is nil where there is no such Node.
	Node *corev1.Node
	// Events are those bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
}

// Step is one thing to do. Each may be done twice: a crash after it is as if it had not been
// done.
type Step interface{ isStep() }

type (
	// Create asks for the drain.
	Create struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Cancel deletes the event, which nobody needs any more.
	Cancel struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Note says on the Node what became of the drain.
	Note struct{ Drain Drain }
	// LetGo takes our finalizer off an event of which nothing is to be remembered.
	LetGo struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// Return undoes what the drain has done, and then takes back what the Node says of it.
	Return struct {
		// UID is the event that the Node was cordoned for; empty, if it was not.
		UID types.UID
		// Conditions of the Node.
		Conditions []corev1.NodeCondition
		// Forget are annotations of the Node.
		Forget []string
		// Ended is [ReasonFinished] or [ReasonUnfinished]; empty where the shutdown was called off.
		Ended string
	}
)

func (Create) isStep() {}
func (Cancel) isStep() {}
func (Note) isStep()   {}
func (LetGo) isStep()  {}
func (Return) isStep() {}

// Next is the controller's next step for the node; nil, if there is none. An event of ours
// comes to its end before anything else begins.
func Next(f Facts, now time.Time) Step {
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if slices.Contains(e.Finalizers, Finalizer) {
			return wind(f, e)
		}
	}
	if f.Node == nil {
		return nil
	}
	said, noted := AnnouncedOn(f.Node), DrainedOn(f.Node)
	switch {
	case goesOn(f.Node, said) && noted == nil:
		return begin(f, *said)
	case goesOn(f.Node, said) && noted.Shutdown == said.ID():
		return nil // it is the machine's turn
	case goesOn(f.Node, said): // what is noted is of one that was called off
		return giveBack(f, nil, noted, now)
	case said == nil && noted == nil:
		return nil
	case said != nil && (!booted(f.Node, *said) || !ready(f.Node)):
		return nil
	default:
		return giveBack(f, said, noted, now)
	}
}

// wind takes an event of ours to its end, and remembers what is needed of it.
func wind(f Facts, e *lifecyclev1alpha1.LifecycleEvent) Step {
	ended := e.Status.ClaimStatus.Terminal()
	said := AnnouncedOn(f.Node)
	switch {
	case f.Node == nil && ended, !ended && e.DeletionTimestamp != nil && e.Status.ClaimedBy == nil:
		return LetGo{e} // there is nothing to return
	case f.Node == nil:
		return nil // whoever sees that the node is gone ends it
	case ended && noted(f.Node, e):
		return LetGo{e}
	case ended:
		return Note{Drain{Shutdown: e.Annotations[Annotation], Event: e.Name, UID: e.UID, Outcome: e.Status.ClaimStatus}}
	case e.DeletionTimestamp != nil:
		return nil
	case goesOn(f.Node, said) && e.Annotations[Annotation] == said.ID() && (e.Status.ClaimedBy != nil || emptiedBy(f) == nil):
		return nil
	default: // nobody needs it; where it waits behind what has emptied the node, begin finds that
		return Cancel{e}
	}
}

func noted(node *corev1.Node, e *lifecyclev1alpha1.LifecycleEvent) bool {
	d := DrainedOn(node)
	return d != nil && d.UID == e.UID
}

// begin has the node drained, unless a maintenance has done so and shuts the machine down.
func begin(f Facts, said Announcement) Step {
	if e := emptiedBy(f); e != nil {
		return Note{Drain{Shutdown: said.ID(), Event: e.Name, Outcome: lifecyclev1alpha1.Succeeded}}
	}
	return Create{newEvent(f.NodeName, said)}
}

// emptiedBy is the event that holds the node empty; nil, if none does.
func emptiedBy(f Facts) *lifecyclev1alpha1.LifecycleEvent {
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if HoldsEmpty(e) {
			return e
		}
	}
	return nil
}

// goesOn says whether the announcement is of the boot that the Node is in.
func goesOn(node *corev1.Node, said *Announcement) bool {
	return said != nil && node != nil && said.BootID == node.Status.NodeInfo.BootID
}

// booted says whether the machine has booted since.
func booted(node *corev1.Node, said Announcement) bool {
	now := node.Status.NodeInfo.BootID
	return now != "" && now != said.BootID
}

func ready(node *corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}
