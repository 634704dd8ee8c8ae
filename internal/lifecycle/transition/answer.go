// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// The limits of the API on what drivers say: longer texts are cut.
const (
	maxBlockers = 20  // entries
	maxObject   = 600 // bytes
	maxReason   = 128 // bytes
	maxLeft     = 500 // entries
	maxUID      = 128 // bytes; a UID has 36
)

// broken says why an event fails because of what its driver said.
type broken struct{ reason, message string }

// check holds an answer against the contract. It is nil where the answer keeps it.
func check(call Call, e *lifecyclev1alpha1.LifecycleEvent, nodeName string) *broken {
	answer, driver := call.Answer, driverOf(e)
	invalid := func(format string, args ...any) *broken {
		return &broken{
			lifecyclev1alpha1.ReasonInvalidAnswer,
			fmt.Sprintf("driver %q answered %s with ", driver.Name, method(call.AnsweredKind)) + fmt.Sprintf(format, args...),
		}
	}
	switch {
	case answer.Error != "":
		return &broken{lifecyclev1alpha1.ReasonDriverFailed, fmt.Sprintf("driver %q: %s", driver.Name, answer.Error)}
	case answer.Malformed != "":
		return invalid("%s", answer.Malformed)
	case answer.NodeName != "" && answer.NodeName != nodeName:
		return invalid("node_name %q; it was asked for node %q", answer.NodeName, nodeName)
	case answer.State == "" && call.AnsweredKind != CallStart:
		return invalid("an empty lifecycle_condition; want %q or %q", driver.Start, driver.End)
	case answer.State != "" && answer.State != driver.Start && answer.State != driver.End:
		return invalid("lifecycle_condition %q; want %q or %q", answer.State, driver.Start, driver.End)
	}
	if why := checkConditions(answer); why != "" {
		return invalid("%s", why)
	}
	return nil
}

func method(kind CallKind) string {
	if kind == CallStart {
		return "StartLifecycleTransition"
	}
	return "EndLifecycleTransition"
}

// record writes what the driver said into the event: a new state at once, and that there
// are pods left to responders, who are waiting for it; progress at intervals.
func record(f Facts, e *lifecyclev1alpha1.LifecycleEvent, call Call, now time.Time) Decision {
	state := reached(call, e)
	purpose := PurposeProgress
	if state != e.Status.State {
		purpose = PurposeState
	} else if !names(call.Answer, e) && now.Before(f.ReportedAt[e.UID].Add(progressInterval)) {
		return Decision{}
	}
	return writeIfChanged(e, purpose, func(status *lifecyclev1alpha1.LifecycleEventStatus) {
		status.State = state
		fold(status, e, call.Answer, now)
	})
}

// names says whether the driver leaves pods to responders, and has not before.
func names(answer *Answer, e *lifecyclev1alpha1.LifecycleEvent) bool {
	return len(answer.LeftToResponders) > 0 && len(e.Status.LeftToResponders) == 0
}

// throttled wakes when the progress that may not be written yet may be.
func throttled(f Facts, e *lifecyclev1alpha1.LifecycleEvent, call Call, now time.Time) Decision {
	if call.Answer == nil {
		return Decision{}
	}
	status := e.Status.DeepCopy()
	fold(status, e, call.Answer, now)
	if equality.Semantic.DeepEqual(*status, e.Status) {
		return Decision{}
	}
	return waitUntil(f.ReportedAt[e.UID].Add(progressInterval))
}

// reached is the state that the event, which has not reached its end, is in by the answer.
func reached(call Call, e *lifecyclev1alpha1.LifecycleEvent) string {
	driver := driverOf(e)
	if call.Answer.State == driver.End {
		return driver.End
	}
	return driver.Start
}

// fold puts what the driver said, but for the state, into the status.
func fold(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, answer *Answer, now time.Time) {
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

func foldConditions(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, answer *Answer, now time.Time) {
	for _, c := range answer.EventConditions {
		lifecycleevent.SetCondition(status, e, c.Type, metav1.ConditionStatus(c.Status), c.Reason, c.Message, now)
		// It is about the parameters that the driver was asked with, not about newer ones.
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

// boundedPods leaves out what is no pod: with one such entry, the server would take none
// of the status.
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
