// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"reflect"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// Outcome returns the end of the event, as far as the watch has shown it. After an interruption,
// the condition of the Node has it.
func (s *Item) Outcome() slipwayclient.Outcome {
	if s.event == nil {
		return slipwayclient.Outcome{}
	}
	last := s.last()
	if s.read {
		last.Node = s.node
	}
	return last.Outcome()
}

// last is the last known state of the event.
func (s *Item) last() slipwayclient.Last {
	return slipwayclient.Last{Event: s.event, Gone: s.gone, Missed: s.missed}
}

// Change is an event after a change, for programs: one JSON object a change. The last of
// an event has Ended.
type Change struct {
	// Time at which it was seen.
	Time metav1.MicroTime `json:"time"`
	// Node, Event and UID identify the event, Transition its action.
	Node       string `json:"node"`
	Event      string `json:"event"`
	UID        string `json:"uid"`
	Transition string `json:"transition"`
	// Phase is status.claimStatus, State is the state of the driver.
	Phase    lifecyclev1alpha1.ClaimStatus `json:"phase"`
	State    string                        `json:"state,omitempty"`
	Progress *lifecyclev1alpha1.Progress   `json:"progress,omitempty"`
	// Deadline, once it is claimed.
	Deadline *metav1.Time `json:"deadline,omitempty"`
	// Waiting is the reason that it is not claimed, or not driven: a reason of a condition.
	Waiting string `json:"waiting,omitempty"`
	// Blocked means that the event waits for the removal of a blocker. Blockers are at most 20 of
	// BlockersTotal.
	Blocked       bool                        `json:"blocked"`
	Blockers      []lifecyclev1alpha1.Blocker `json:"blockers,omitempty"`
	BlockersTotal int32                       `json:"blockersTotal,omitempty"`
	// Canceling means that it is being deleted, and has not ended.
	Canceling bool `json:"canceling,omitempty"`
	// Ended means that this is the last change, with Reason and Message of the end.
	Ended   bool   `json:"ended"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// change adds the event to the log for programs, if something has changed.
func (s *Item) change(at time.Time) {
	status, outcome := &s.event.Status, s.Outcome()
	c := Change{
		Node: s.event.Spec.BindingNode, Event: s.event.Name, UID: string(s.event.UID), Transition: s.event.Spec.TransitionName,
		Phase: outcome.Phase, State: status.State, Progress: status.Progress, Deadline: status.SLA,
		Waiting: state.WaitOf(s.event).Reason, Blockers: status.Blockers, BlockersTotal: status.BlockersTotal,
		Ended: s.gone || outcome.Phase.Terminal(), Reason: outcome.Reason, Message: outcome.Message,
	}
	if !c.Ended {
		c.Blocked, c.Canceling = state.IsBlocked(status), s.event.DeletionTimestamp != nil
	}
	if c.Phase == "" && !c.Ended {
		c.Phase = lifecyclev1alpha1.Pending
	}
	if s.latest != nil && (s.latest.Ended || reflect.DeepEqual(*s.latest, c)) {
		return
	}
	s.latest = &c
	dated := c
	dated.Time = metav1.NewMicroTime(at)
	s.in.changes = append(s.in.changes, dated)
}
