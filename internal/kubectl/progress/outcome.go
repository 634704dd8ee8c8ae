// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Outcome is how an event has ended. Without a phase, nobody has seen how.
type Outcome struct {
	Phase           lifecyclev1alpha1.ClaimStatus
	Reason, Message string
}

// String is the outcome in one line.
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

// Canceled says that somebody deleted the event before it had ended.
func (o Outcome) Canceled() bool { return o.Reason == lifecyclev1alpha1.ReasonCanceled }

// Outcome is how the event has ended, as far as that has been seen. If the event
// went while the watch was cut, the Node's condition says it.
func (s *Story) Outcome() Outcome {
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
	case s.read && c != nil && hasEnded(c, status.Driver.End):
		return outcomeOfNode(c, status.Driver.End)
	case status.Driver != nil || s.missed:
		return Outcome{Message: "the event is gone, and how it ended was not seen"}
	default:
		return Outcome{
			Phase: lifecyclev1alpha1.Failed, Reason: lifecyclev1alpha1.ReasonCanceled,
			Message: "the event was deleted before it was claimed",
		}
	}
}

// hasEnded says that a Node's condition tells of an end, and not of what goes on.
func hasEnded(c *corev1.NodeCondition, end string) bool {
	return c.Status == corev1.ConditionFalse || c.Reason == end
}

// outcomeOfNode is what the Node's condition says of its last event.
func outcomeOfNode(c *corev1.NodeCondition, end string) Outcome {
	switch c.Reason {
	case end:
		return Outcome{Phase: lifecyclev1alpha1.Succeeded}
	case lifecyclev1alpha1.ReasonSLAExpired:
		return Outcome{Phase: lifecyclev1alpha1.SlaExpired, Reason: c.Reason, Message: strings.TrimSpace(c.Message)}
	default:
		return Outcome{Phase: lifecyclev1alpha1.Failed, Reason: c.Reason, Message: strings.TrimSpace(c.Message)}
	}
}
