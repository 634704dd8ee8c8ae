// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// maxMessage bounds the messages that drivers have written into status and
// conditions, in bytes.
const maxMessage = 1024

// writeIfChanged is a step that writes what change makes of the event's status, or
// nothing where it makes no difference.
func writeIfChanged(e *lifecyclev1alpha1.LifecycleEvent, purpose Purpose, change func(*lifecyclev1alpha1.LifecycleEventStatus)) Decision {
	status := e.Status.DeepCopy()
	status.ClaimStatus = phase(e)
	change(status)
	if equality.Semantic.DeepEqual(*status, e.Status) {
		return Decision{}
	}
	return do(WriteStatus{Purpose: purpose, Event: e, Status: *status})
}

func setCondition(status *lifecyclev1alpha1.LifecycleEventStatus, e *lifecyclev1alpha1.LifecycleEvent, conditionType string, value metav1.ConditionStatus, reason, message string, now time.Time) {
	apimeta.SetStatusCondition(&status.Conditions, metav1.Condition{
		Type: conditionType, Status: value, Reason: reason, Message: shortened(message),
		ObservedGeneration: e.Generation, LastTransitionTime: metav1.NewTime(now),
	})
	// The time of a condition is that of its last change of reason as well: the 30 s
	// that a driver has to become ready are counted from it.
	if c := apimeta.FindStatusCondition(status.Conditions, conditionType); c.LastTransitionTime.Time.Before(now) {
		if old := condition(e, conditionType); old == nil || old.Reason != reason {
			c.LastTransitionTime = metav1.NewTime(now)
		}
	}
}

func condition(e *lifecyclev1alpha1.LifecycleEvent, conditionType string) *metav1.Condition {
	return apimeta.FindStatusCondition(e.Status.Conditions, conditionType)
}

// shortened is a message of at most maxMessage bytes.
func shortened(message string) string { return reasons.Shorten(message, maxMessage) }
