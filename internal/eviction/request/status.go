// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// report returns the step that reports an outcome to the next request; nil when all report it.
func (v view) report(o outcome) Step {
	for _, r := range slices.SortedFunc(slices.Values(v.Requests), func(a, b *evictionv1alpha1.EvictionRequest) int {
		return strings.Compare(a.Name, b.Name)
	}) {
		status := *r.Status.DeepCopy()
		status.ObservedGeneration = new(r.Generation)
		if !permanent(r) {
			o.applyTo(&status.Conditions, r.Generation, v.now)
		}
		if !equality.Semantic.DeepEqual(status, r.Status) {
			return WriteRequest{Request: r, Status: status}
		}
	}
	return nil
}

// permanent reports whether the outcome of a request no longer changes.
func permanent(r *evictionv1alpha1.EvictionRequest) bool {
	return apimeta.IsStatusConditionTrue(r.Status.Conditions, conditionEvicted) ||
		failedFor(r.Status.Conditions, evictionv1alpha1.EvictionConditionReasonEvictionInvalid)
}

// observe returns the Eviction's status with its current requesters.
func (v view) observe(e *evictionv1alpha1.Eviction) evictionv1alpha1.EvictionStatus {
	status := *e.Status.DeepCopy()
	status.ObservedGeneration = new(e.Generation)
	status.Requesters = v.requesters(e)
	return status
}

// started returns the status with the first responder as the active one.
func (v view) started(e *evictionv1alpha1.Eviction) evictionv1alpha1.EvictionStatus {
	status := v.observe(e)
	status.TargetResponders = v.responders()
	for _, r := range status.TargetResponders {
		status.Responders = append(status.Responders, evictionv1alpha1.ResponderStatus{Name: r.Name})
	}
	v.activate(&status, 0)
	outcomeAwaited.applyTo(&status.Conditions, e.Generation, v.now)
	return status
}

// turned returns the status after the report of the active responder, and the time of the next decision.
func (v view) turned(e *evictionv1alpha1.Eviction) (evictionv1alpha1.EvictionStatus, time.Time) {
	status := v.observe(e)
	order := inTurnOf(status.TargetResponders)
	at := slices.IndexFunc(order, func(i int) bool { return status.TargetResponders[i].State == evictionv1alpha1.ResponderStateActive })
	if at >= 0 {
		active := &status.TargetResponders[order[at]]
		own := statusOf(&status, active.Name)
		switch deadline := heartbeat(own, v.now).Add(HeartbeatDeadline); {
		case own.CompletionTime != nil:
			active.State = evictionv1alpha1.ResponderStateCompleted
		case !v.now.Before(deadline):
			active.State = evictionv1alpha1.ResponderStateInterrupted
		default:
			return status, deadline
		}
		if at+1 < len(order) {
			v.activate(&status, order[at+1])
			return status, time.Time{}
		}
	}
	outcomeNoResponder.applyTo(&status.Conditions, e.Generation, v.now)
	return status, time.Time{}
}

// succeeded returns the status of an Eviction whose target has ended. An active responder that has not reported its
// completion is Interrupted.
func (v view) succeeded(e *evictionv1alpha1.Eviction, how reasoned) evictionv1alpha1.EvictionStatus {
	status := v.observe(e)
	if active := activeOf(&status); active != nil {
		active.State = evictionv1alpha1.ResponderStateCompleted
		if statusOf(&status, active.Name).CompletionTime == nil {
			active.State = evictionv1alpha1.ResponderStateInterrupted
		}
	}
	outcomeEvicted(how).applyTo(&status.Conditions, e.Generation, v.now)
	return status
}

// failed returns the status of an Eviction that ends while its target is still there.
func (v view) failed(e *evictionv1alpha1.Eviction, how outcome) evictionv1alpha1.EvictionStatus {
	status := v.observe(e)
	if active := activeOf(&status); active != nil {
		active.State = evictionv1alpha1.ResponderStateCanceled
	}
	how.applyTo(&status.Conditions, e.Generation, v.now)
	return status
}

func (v view) activate(status *evictionv1alpha1.EvictionStatus, i int) {
	next := &status.TargetResponders[i]
	next.State = evictionv1alpha1.ResponderStateActive
	statusOf(status, next.Name).StartTime = notBefore(nil, v.now)
}

func activeOf(status *evictionv1alpha1.EvictionStatus) *evictionv1alpha1.TargetResponder {
	for i := range status.TargetResponders {
		if status.TargetResponders[i].State == evictionv1alpha1.ResponderStateActive {
			return &status.TargetResponders[i]
		}
	}
	return nil
}

// statusOf returns the part of the status that a responder writes. The server keeps both lists to the same names.
func statusOf(status *evictionv1alpha1.EvictionStatus, name string) *evictionv1alpha1.ResponderStatus {
	for i := range status.Responders {
		if status.Responders[i].Name == name {
			return &status.Responders[i]
		}
	}
	return &evictionv1alpha1.ResponderStatus{}
}

// heartbeat returns when the responder last reported. Kubernetes' server accepts no time that is more than 30 s
// ahead of the server's; a later time, which a CRD accepts, is ignored.
func heartbeat(r *evictionv1alpha1.ResponderStatus, now time.Time) time.Time {
	switch {
	case r.HeartbeatTime != nil && !r.HeartbeatTime.After(now.Add(clockSkew)):
		return r.HeartbeatTime.Time
	case r.StartTime != nil:
		return r.StartTime.Time
	default:
		return time.Time{}
	}
}

// notBefore returns a time in whole seconds, as the API has it, that is not before an earlier one: that may come
// from a faster clock.
func notBefore(earlier *metav1.Time, now time.Time) *metav1.Time {
	at := metav1.NewTime(now.Truncate(time.Second))
	if at.Before(earlier) {
		return earlier.DeepCopy()
	}
	return &at
}

// The two conditions of Evictions and requests.
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

// outcome is the current or final state of an Eviction: both conditions.
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
		failed:  reasoned{true, evictionv1alpha1.EvictionConditionReasonNoFurtherResponder, "all responders have run, and the target still exists"},
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

func podGone(t Target) reasoned {
	return reasoned{true, evictionv1alpha1.EvictionConditionReasonPodDeleted, fmt.Sprintf("Pod %s was deleted", t.Name)}
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

// outcomeOf returns the current outcome of an Eviction.
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

// final reports whether one of the conditions is True. An Eviction's conditions do not change after that.
func final(conditions []metav1.Condition) bool {
	return apimeta.IsStatusConditionTrue(conditions, conditionEvicted) || apimeta.IsStatusConditionTrue(conditions, conditionFailed)
}

func hasEnded(e *evictionv1alpha1.Eviction) bool { return final(e.Status.Conditions) }

// superfluous reports whether an Eviction was ended because it should not have existed.
func superfluous(e *evictionv1alpha1.Eviction) bool {
	return failedFor(e.Status.Conditions, evictionv1alpha1.EvictionConditionReasonEvictionInvalid)
}

func failedFor(conditions []metav1.Condition, reason evictionv1alpha1.EvictionConditionReason) bool {
	c := apimeta.FindStatusCondition(conditions, conditionFailed)
	return c != nil && c.Status == metav1.ConditionTrue && c.Reason == string(reason)
}

func evicted(e *evictionv1alpha1.Eviction) bool {
	return apimeta.IsStatusConditionTrue(e.Status.Conditions, conditionEvicted)
}
