// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Decision is what to do now, and when to ask again if nothing changes before.
type Decision struct {
	// Steps do not depend on each other: each may be done, or fail, by itself.
	Steps []Step
	// Statuses by the UID of the maintenance: those that differ from what it says. They are
	// written at most once a second.
	Statuses map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus
	// Check are the names of the nodes whose pods of DaemonSets are to be watched.
	Check []string
	// WatchKeptAway: the pods that are kept away from nodes are to be watched.
	WatchKeptAway bool
	// CountPending: the pods that are Pending or not Ready are to be watched.
	CountPending bool
	// Budgets: which disruption budgets the pods of each node have is to be watched.
	Budgets bool
	// Starving: the pods that no node takes are to be watched, and their budgets.
	Starving bool
	// Wake is zero when only a change of the facts can give a step.
	Wake time.Time
}

// Step is one thing to do. Each may be done twice: a crash after it is as if it had not
// been done. What was seen must not have changed, or the step is dropped.
type Step interface{ isStep() }

type (
	// CreateEvent creates a LifecycleEvent.
	CreateEvent struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// ChangeEvent writes the parameters, the gates, the guards that are allowed, the finalizers
	// and the annotations of an event.
	ChangeEvent struct {
		Seen, Changed *lifecyclev1alpha1.LifecycleEvent
	}
	// DeleteEvent cancels an event.
	DeleteEvent struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// CreateJob creates the Job of a node.
	CreateJob struct{ Job *batchv1.Job }
	// DeleteJob deletes it, with its pods.
	DeleteJob struct{ Job *batchv1.Job }
	// RecordOnNode replaces the records of a Node.
	RecordOnNode struct {
		Node    string
		Records []Record
	}
	// MarkNode sets conditions of a Node.
	MarkNode struct {
		Node       string
		Conditions []corev1.NodeCondition
	}
	// KeepAway has the Node say which pods of DaemonSets are kept away from it.
	KeepAway struct{ Node, Which string }
	// LetBack has the Node say so no more.
	LetBack struct{ Node string }
	// Lift takes our scheduling gate off a pod.
	Lift struct{ Pod KeptPod }
	// ChangeMaintenance writes the stage and the finalizers of a maintenance.
	ChangeMaintenance struct {
		Seen, Changed *slipwayv1alpha1.NodeMaintenance
	}
	// Tell writes a core Event about a maintenance. One that follows another step tells of
	// that, and is done after it. The first ones of a decision tell of what the statuses show
	// now: until these are written, the next decision has them again.
	Tell struct {
		About           *slipwayv1alpha1.NodeMaintenance
		Warning         bool
		Reason, Message string
	}
)

// Key tells steps apart that are wanted at the same time, and is the same when a step is wanted
// again. What is told has none of its own.
func Key(step Step) string {
	name := ""
	switch s := step.(type) {
	case CreateEvent:
		name = s.Event.Name
	case ChangeEvent:
		name = s.Seen.Name
	case DeleteEvent:
		name = s.Event.Name
	case CreateJob:
		name = s.Job.Name
	case DeleteJob:
		name = s.Job.Name
	case RecordOnNode:
		name = s.Node
	case MarkNode:
		name = s.Node
	case KeepAway:
		name = s.Node
	case LetBack:
		name = s.Node
	case Lift:
		name = s.Pod.Namespace + "/" + s.Pod.Name
	case ChangeMaintenance:
		name = s.Seen.Name
	case Tell:
	}
	return fmt.Sprintf("%T %s", step, name)
}

func (CreateEvent) isStep()       {}
func (ChangeEvent) isStep()       {}
func (DeleteEvent) isStep()       {}
func (CreateJob) isStep()         {}
func (DeleteJob) isStep()         {}
func (RecordOnNode) isStep()      {}
func (MarkNode) isStep()          {}
func (KeepAway) isStep()          {}
func (LetBack) isStep()           {}
func (Lift) isStep()              {}
func (ChangeMaintenance) isStep() {}
func (Tell) isStep()              {}
