// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Change is how an event is after a change, for programs: one JSON object a change. The
// last of an event has Ended.
type Change struct {
	// Time at which it was seen.
	Time metav1.MicroTime `json:"time"`
	// Node, Event and UID say what it is about, Transition what is done.
	Node       string `json:"node"`
	Event      string `json:"event"`
	UID        string `json:"uid"`
	Transition string `json:"transition"`
	// Phase is status.claimStatus, State the driver's, Progress how far it is.
	Phase    lifecyclev1alpha1.ClaimStatus `json:"phase"`
	State    string                        `json:"state,omitempty"`
	Progress *lifecyclev1alpha1.Progress   `json:"progress,omitempty"`
	// Deadline, once it is claimed.
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Waiting is why it is not claimed, or not driven: a reason of a condition.
	Waiting string `json:"waiting,omitempty"`
	// Blocked says that nothing moves before somebody does something. Blockers are at most
	// 20 of BlockersTotal.
	Blocked       bool                        `json:"blocked"`
	Blockers      []lifecyclev1alpha1.Blocker `json:"blockers,omitempty"`
	BlockersTotal int32                       `json:"blockersTotal,omitempty"`
	// Canceling says that it is being deleted, and has not ended.
	Canceling bool `json:"canceling,omitempty"`
	// Ended says that this is the last change. Reason and Message say how it ended.
	Ended   bool   `json:"ended"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// change notes what programs are told, if there is something new.
func (s *Story) change(at time.Time) {
	status, outcome := &s.event.Status, s.Outcome()
	c := Change{
		Node: s.event.Spec.BindingNode, Event: s.event.Name, UID: string(s.event.UID), Transition: s.event.Spec.TransitionName,
		Phase: outcome.Phase, State: status.State, Progress: status.Progress, Deadline: status.SLA,
		Waiting: Waits(s.event).Reason, Blockers: status.Blockers, BlockersTotal: status.BlockersTotal,
		Ended: s.gone || outcome.Phase.Terminal(), Reason: outcome.Reason, Message: outcome.Message,
	}
	if !c.Ended {
		c.Blocked, c.Canceling = Blocked(status), s.event.DeletionTimestamp != nil
	}
	if c.Phase == "" && !c.Ended {
		c.Phase = lifecyclev1alpha1.Pending
	}
	if s.told != nil && (s.told.Ended || reflect.DeepEqual(*s.told, c)) {
		return
	}
	s.told = &c
	dated := c
	dated.Time = metav1.NewMicroTime(at)
	s.in.changes = append(s.in.changes, dated)
}
