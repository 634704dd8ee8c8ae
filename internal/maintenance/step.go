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
	// Steps do not depend on each other: each may succeed or fail by itself.
	Steps []Step
	// Statuses by the UID of the maintenance: those that have changed. They are written at most
	// once a second.
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

// Step is one thing to do. It may be done twice, after a crash. If an object has changed since it
// was seen, the step is dropped.
type Step interface {
	// object names what the step changes.
	object() string
}

type (
	// CreateEvent creates a LifecycleEvent.
	CreateEvent struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
	// ChangeEvent writes the parameters, the gates, the allowed guards, the finalizers and the
	// annotations of an event.
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
	// KeepAway lets the Node say which pods of DaemonSets it keeps away.
	KeepAway struct{ Node, Which string }
	// LetBack removes what KeepAway wrote.
	LetBack struct{ Node string }
	// Lift removes our scheduling gate from a pod.
	Lift struct{ Pod KeptPod }
	// ChangeMaintenance writes the stage and the finalizers of a maintenance.
	ChangeMaintenance struct {
		Seen, Changed *slipwayv1alpha1.NodeMaintenance
	}
	// Tell writes a core Event about a maintenance. If it follows another step, it is done once
	// that has succeeded. The first ones of a decision say what is new in the statuses: until
	// these are written, the next decision has them again.
	Tell struct {
		About           *slipwayv1alpha1.NodeMaintenance
		Warning         bool
		Reason, Message string
	}
)

// Key identifies a step among those that are wanted at the same time, and stays the same when it
// is wanted again. A Tell has no key of its own.
func Key(step Step) string { return fmt.Sprintf("%T %s", step, step.object()) }

func (s CreateEvent) object() string       { return s.Event.Name }
func (s ChangeEvent) object() string       { return s.Seen.Name }
func (s DeleteEvent) object() string       { return s.Event.Name }
func (s CreateJob) object() string         { return s.Job.Name }
func (s DeleteJob) object() string         { return s.Job.Name }
func (s RecordOnNode) object() string      { return s.Node }
func (s MarkNode) object() string          { return s.Node }
func (s KeepAway) object() string          { return s.Node }
func (s LetBack) object() string           { return s.Node }
func (s Lift) object() string              { return s.Pod.Namespace + "/" + s.Pod.Name }
func (s ChangeMaintenance) object() string { return s.Seen.Name }
func (Tell) object() string                { return "" }
