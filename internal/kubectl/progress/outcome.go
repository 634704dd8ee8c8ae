// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"reflect"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/state"
)

// Outcome is the end of an event. Without a phase, the watch has not shown the end.
type Outcome struct {
	Phase           lifecyclev1alpha1.ClaimStatus
	Reason, Message string
}

// String returns the outcome in one line.
func (o Outcome) String() string {
	text := string(o.Phase)
	if text == "" {
		text = "Unknown"
	}
	if o.Reason != "" && o.Reason != text {
		text += " (" + o.Reason + ")"
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}

// Canceled reports whether the event was deleted before its end.
func (o Outcome) Canceled() bool { return o.Reason == lifecyclev1alpha1.ReasonCanceled }

// Outcome returns the end of the event, as far as the watch has shown it. After an interruption,
// the condition of the Node has it.
func (s *Item) Outcome() Outcome {
	if s.event == nil {
		return Outcome{}
	}
	status := s.event.Status
	outcome := Outcome{Phase: status.ClaimStatus}
	if c := apimeta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished); c != nil {
		outcome.Reason, outcome.Message = c.Reason, strings.TrimSpace(c.Message)
	}
	if !s.gone || status.ClaimStatus.Terminal() {
		return outcome
	}
	switch c := s.nodeCondition(); {
	case s.read && c != nil && c.Reason == status.Driver.End:
		return Outcome{Phase: lifecyclev1alpha1.Succeeded}
	case s.read && c != nil && c.Status == corev1.ConditionFalse:
		outcome := Outcome{Phase: lifecyclev1alpha1.Failed, Reason: c.Reason, Message: strings.TrimSpace(c.Message)}
		if c.Reason == lifecyclev1alpha1.ReasonSLAExpired {
			outcome.Phase = lifecyclev1alpha1.SlaExpired
		}
		return outcome
	case status.Driver != nil || s.missed:
		return Outcome{Message: "the event was deleted, and its outcome is unknown"}
	default:
		return Outcome{
			Phase: lifecyclev1alpha1.Failed, Reason: lifecyclev1alpha1.ReasonCanceled,
			Message: "the event was deleted before it was claimed",
		}
	}
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
	if s.last != nil && (s.last.Ended || reflect.DeepEqual(*s.last, c)) {
		return
	}
	s.last = &c
	dated := c
	dated.Time = metav1.NewMicroTime(at)
	s.in.changes = append(s.in.changes, dated)
}
