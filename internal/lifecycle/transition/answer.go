// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"regexp"
	"slices"
	"time"
	"unicode/utf8"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// The limits of the API on answers of drivers. Longer texts are cut.
const (
	maxBlockers = 20  // entries
	maxObject   = 600 // bytes
	maxReason   = 128 // bytes
	maxLeft     = 500 // entries
	maxUID      = 128 // bytes; a UID has 36
)

// broken is a violation of the contract by an answer. It fails the event.
type broken struct{ reason, message string }

// checkAnswer compares an answer with the contract. It returns nil where the answer keeps it.
func checkAnswer(answer Answer, kind CallKind, driver lifecyclev1alpha1.ClaimedDriver, nodeName string) *broken {
	invalid := func(format string, args ...any) *broken {
		return &broken{
			lifecyclev1alpha1.ReasonInvalidAnswer,
			fmt.Sprintf("driver %q answered %s with ", driver.Name, method(kind)) + fmt.Sprintf(format, args...),
		}
	}
	switch {
	case answer.Error != "":
		return &broken{lifecyclev1alpha1.ReasonDriverFailed, fmt.Sprintf("driver %q: %s", driver.Name, answer.Error)}
	case answer.Malformed != "":
		return invalid("%s", answer.Malformed)
	case answer.NodeName != "" && answer.NodeName != nodeName:
		return invalid("node_name %q; the request was for node %q", answer.NodeName, nodeName)
	case answer.State == "" && kind != CallStart:
		return invalid("an empty lifecycle_condition; want %q or %q", driver.Start, driver.End)
	case answer.State != "" && answer.State != driver.Start && answer.State != driver.End:
		return invalid("lifecycle_condition %q; want %q or %q", answer.State, driver.Start, driver.End)
	}
	if why := checkConditions(answer); why != "" {
		return invalid("%s", why)
	}
	return nil
}

// stateBy returns the state of an event, which has not reached its end, by the answer.
func stateBy(answer Answer, driver lifecyclev1alpha1.ClaimedDriver) string {
	if answer.State == driver.End {
		return driver.End
	}
	return driver.Start
}

// checkConditions returns the first field of the answer's conditions that the API server would refuse, or "".
func checkConditions(answer Answer) string {
	if why := checkList("event_conditions", answer.EventConditions, ownConditions); why != "" {
		return why
	}
	return checkList("node_conditions", answer.NodeConditions, ownNodeConditions)
}

func method(kind CallKind) string {
	if kind == CallStart {
		return "StartLifecycleTransition"
	}
	return "EndLifecycleTransition"
}

// fold puts the answer into the status, except the state.
func fold(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, answer Answer, now time.Time) {
	if answer.Progress != nil {
		status.Progress = &lifecyclev1alpha1.Progress{
			Total: answer.Progress.Total, Done: answer.Progress.Done,
			Summary: fmt.Sprintf("%d/%d", answer.Progress.Done, answer.Progress.Total),
		}
	}
	status.Blockers = boundedBlockers(answer.Blockers)
	status.BlockersTotal = max(answer.BlockersTotal, int32(len(status.Blockers)))
	if answer.LeftToResponders != nil {
		status.LeftToResponders = boundedPods(answer.LeftToResponders)
	}
	status.ObservedGeneration = answer.Generation
	foldConditions(status, e, answer, now)
}

func foldConditions(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, answer Answer, now time.Time) {
	for _, c := range answer.EventConditions {
		lifecycleevent.SetCondition(status, e, c.Type, metav1.ConditionStatus(c.Status), c.Reason, c.Message, now)
		// The condition is about the parameters of that call, not about newer ones.
		apimeta.FindStatusCondition(status.Conditions, c.Type).ObservedGeneration = answer.Generation
	}
}

func boundedBlockers(blockers []lifecyclev1alpha1.Blocker) []lifecyclev1alpha1.Blocker {
	if len(blockers) > maxBlockers {
		blockers = blockers[:maxBlockers]
	}
	var bounded []lifecyclev1alpha1.Blocker
	for _, b := range blockers {
		b.Object, b.By = reasons.Shorten(b.Object, maxObject), reasons.Shorten(b.By, maxObject)
		b.Reason, b.Message = reasons.Shorten(b.Reason, maxReason), shortened(b.Message)
		bounded = append(bounded, b)
	}
	return bounded
}

// boundedPods drops invalid entries: with one of them, the server would refuse the whole
// status.
func boundedPods(pods []lifecyclev1alpha1.PodReference) []lifecyclev1alpha1.PodReference {
	var bounded []lifecyclev1alpha1.PodReference
	for _, p := range pods {
		if len(bounded) < maxLeft && isPod(p) && !slices.Contains(bounded, p) {
			bounded = append(bounded, p)
		}
	}
	return bounded
}

func isPod(p lifecyclev1alpha1.PodReference) bool {
	return len(validation.IsDNS1123Label(p.Namespace)) == 0 && len(validation.IsDNS1123Subdomain(p.Name)) == 0 &&
		p.UID != "" && len(p.UID) <= maxUID && utf8.ValidString(string(p.UID))
}

// The forms that the API server accepts for conditions of an event
// (metav1.Condition).
var (
	conditionType   = regexp.MustCompile(`^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$`)
	conditionReason = regexp.MustCompile(`^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$`)
)

// ownConditions are written by the agent and the controller only.
var ownConditions = []string{
	lifecyclev1alpha1.ConditionClaimable,
	lifecyclev1alpha1.ConditionDriverAvailable,
	lifecyclev1alpha1.ConditionStalled,
	lifecyclev1alpha1.ConditionGuardsPassed,
	lifecyclev1alpha1.ConditionLeaseHeld,
	lifecyclev1alpha1.ConditionFinished,
}

// ownNodeConditions are written by the agent and the kubelet only.
var ownNodeConditions = []string{
	lifecyclev1alpha1.NodeConditionLifecycleTransition,
	"Ready", "MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
}

func checkList(field string, conditions []Condition, taken []string) string {
	seen := map[string]bool{}
	for i, c := range conditions {
		if seen[c.Type] {
			return fmt.Sprintf("%s[%d].type %q, which occurs twice", field, i, c.Type)
		}
		seen[c.Type] = true
		if why := checkCondition(c, taken); why != "" {
			return fmt.Sprintf("%s[%d].%s", field, i, why)
		}
	}
	return ""
}

func checkCondition(c Condition, taken []string) string {
	switch {
	case !conditionType.MatchString(c.Type) || len(c.Type) > 316:
		return fmt.Sprintf("type %q, which is not a condition type", c.Type)
	case slices.Contains(taken, c.Type):
		return fmt.Sprintf("type %q, which is not the driver's to set", c.Type)
	case c.Status != "True" && c.Status != "False" && c.Status != "Unknown":
		return fmt.Sprintf(`status %q; want "True", "False" or "Unknown"`, c.Status)
	case !conditionReason.MatchString(c.Reason) || len(c.Reason) > 1024:
		return fmt.Sprintf("reason %q, which is not a CamelCase code", c.Reason)
	default:
		return ""
	}
}

// shortened returns the message, cut to the length that conditions may have.
func shortened(message string) string { return reasons.Shorten(message, lifecycleevent.MaxMessage) }
