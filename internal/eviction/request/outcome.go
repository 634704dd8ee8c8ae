// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The two conditions that Evictions and requests have.
const (
	conditionEvicted = string(evictionv1alpha1.EvictionConditionTargetEvicted)
	conditionFailed  = string(evictionv1alpha1.EvictionConditionFailed)
)

// reasoned is the value of a condition.
type reasoned struct {
	value   bool
	reason  evictionv1alpha1.EvictionConditionReason
	message string
}

// outcome is how an Eviction stands, or has ended: both conditions.
type outcome struct{ evicted, failed reasoned }

var (
	outcomeAwaited = outcome{
		evicted: reasoned{false, evictionv1alpha1.EvictionConditionReasonAwaitingEviction, ""},
		failed:  reasoned{false, evictionv1alpha1.EvictionConditionReasonAwaitingEviction, ""},
	}
	outcomeCanceled = outcome{
		evicted: notEvicted,
		failed:  reasoned{true, evictionv1alpha1.EvictionConditionReasonCanceledDueToNoRequesters, "no requester wants the eviction"},
	}
	outcomeNoResponder = outcome{
		evicted: notEvicted,
		failed:  reasoned{true, evictionv1alpha1.EvictionConditionReasonNoFurtherResponder, "all responders have had their turn, and the target is still there"},
	}
	outcomeSuperfluous = outcomeInvalid("there is another Eviction of the target, which counts")
	notEvicted         = reasoned{false, evictionv1alpha1.EvictionConditionReasonEvictionFailed, ""}
)

func outcomeInvalid(why string) outcome {
	return outcome{evicted: notEvicted, failed: reasoned{true, evictionv1alpha1.EvictionConditionReasonEvictionInvalid, why}}
}

func outcomeEvicted(how reasoned) outcome {
	return outcome{evicted: how, failed: reasoned{false, evictionv1alpha1.EvictionConditionReasonSucceeded, ""}}
}

func podGone(f Facts) reasoned {
	return reasoned{true, evictionv1alpha1.EvictionConditionReasonPodDeleted, fmt.Sprintf("Pod %s is gone", f.Target.Name)}
}

func podTerminal(pod *corev1.Pod) reasoned {
	return reasoned{true, evictionv1alpha1.EvictionConditionReasonPodTerminal, fmt.Sprintf("Pod %s has ended: it is %s", pod.Name, pod.Status.Phase)}
}

// applyTo writes both conditions.
func (o outcome) applyTo(conditions *[]metav1.Condition, generation int64, now time.Time) {
	for _, c := range []struct {
		name string
		is   reasoned
	}{{conditionEvicted, o.evicted}, {conditionFailed, o.failed}} {
		status := metav1.ConditionFalse
		if c.is.value {
			status = metav1.ConditionTrue
		}
		apimeta.SetStatusCondition(conditions, metav1.Condition{
			Type: c.name, Status: status, Reason: string(c.is.reason), Message: c.is.message,
			ObservedGeneration: generation, LastTransitionTime: *notBefore(nil, now),
		})
	}
}

// outcomeOf is how an Eviction stands.
func outcomeOf(e *evictionv1alpha1.Eviction) outcome {
	o := outcomeAwaited
	for _, c := range []struct {
		name string
		into *reasoned
	}{{conditionEvicted, &o.evicted}, {conditionFailed, &o.failed}} {
		if found := apimeta.FindStatusCondition(e.Status.Conditions, c.name); found != nil {
			*c.into = reasoned{
				found.Status == metav1.ConditionTrue,
				evictionv1alpha1.EvictionConditionReason(found.Reason), found.Message,
			}
		}
	}
	return o
}

// final says whether one of the conditions is True: for an Eviction, that does not
// change any more.
func final(conditions []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(conditions, conditionEvicted) || apimeta.IsStatusConditionTrue(conditions, conditionFailed)
}

func ended(e *evictionv1alpha1.Eviction) bool { return final(e.Status.Conditions) }

// superfluous says whether an Eviction was ended because it should not have been there.
func superfluous(e *evictionv1alpha1.Eviction) bool {
	c := apimeta.FindStatusCondition(e.Status.Conditions, conditionFailed)
	return c != nil && c.Reason == string(evictionv1alpha1.EvictionConditionReasonEvictionInvalid)
}

func evicted(e *evictionv1alpha1.Eviction) bool {
	return apimeta.IsStatusConditionTrue(e.Status.Conditions, conditionEvicted)
}
