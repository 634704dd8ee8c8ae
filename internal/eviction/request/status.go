// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// observe is the Eviction's status, with what is known of its requesters now.
func observe(e *evictionv1alpha1.Eviction, f Facts) evictionv1alpha1.EvictionStatus {
	status := *e.Status.DeepCopy()
	status.ObservedGeneration = new(e.Generation)
	status.Requesters = requesters(f.Requests, e.Status.Requesters)
	return status
}

// started gives the first responder its turn.
func started(e *evictionv1alpha1.Eviction, f Facts, ofPod []corev1.EvictionResponder, now time.Time) evictionv1alpha1.EvictionStatus {
	status := observe(e, f)
	status.TargetResponders = targetResponders(ofPod)
	for _, r := range status.TargetResponders {
		status.Responders = append(status.Responders, evictionv1alpha1.ResponderStatus{Name: r.Name})
	}
	activate(&status, 0, now)
	outcomeAwaited.applyTo(&status.Conditions, e.Generation, now)
	return status
}

// turned is what the active responder has come to, and when to look again.
func turned(e *evictionv1alpha1.Eviction, f Facts, now time.Time) (evictionv1alpha1.EvictionStatus, time.Time) {
	status := observe(e, f)
	order := inTurnOf(status.TargetResponders)
	at := slices.IndexFunc(order, func(i int) bool { return status.TargetResponders[i].State == evictionv1alpha1.ResponderStateActive })
	if at >= 0 {
		active := &status.TargetResponders[order[at]]
		own := statusOf(&status, active.Name)
		switch deadline := heartbeat(own, now).Add(HeartbeatDeadline); {
		case own.CompletionTime != nil:
			active.State = evictionv1alpha1.ResponderStateCompleted
		case !now.Before(deadline):
			active.State = evictionv1alpha1.ResponderStateInterrupted
		default:
			return status, deadline
		}
		if at+1 < len(order) {
			activate(&status, order[at+1], now)
			return status, time.Time{}
		}
	}
	outcomeNoResponder.applyTo(&status.Conditions, e.Generation, now)
	return status, time.Time{}
}

// succeeded ends an Eviction whose target is gone. The server wants an active responder
// to say that it has completed before the Eviction ends: where it has not done so, that
// is written for it, and the end with the next step.
func succeeded(e *evictionv1alpha1.Eviction, f Facts, how reasoned, now time.Time) evictionv1alpha1.EvictionStatus {
	status := observe(e, f)
	if active := activeOf(&status); active != nil {
		own := statusOf(&status, active.Name)
		if own.CompletionTime == nil {
			own.CompletionTime = notBefore(own.StartTime, now)
			return status
		}
		active.State = evictionv1alpha1.ResponderStateCompleted
	}
	outcomeEvicted(how).applyTo(&status.Conditions, e.Generation, now)
	return status
}

// canceled ends an Eviction that no requester wants.
func canceled(e *evictionv1alpha1.Eviction, f Facts, now time.Time) evictionv1alpha1.EvictionStatus {
	return failed(e, f, outcomeCanceled, now)
}

func failed(e *evictionv1alpha1.Eviction, f Facts, how outcome, now time.Time) evictionv1alpha1.EvictionStatus {
	status := observe(e, f)
	if active := activeOf(&status); active != nil {
		active.State = evictionv1alpha1.ResponderStateCanceled
	}
	how.applyTo(&status.Conditions, e.Generation, now)
	return status
}

func activate(status *evictionv1alpha1.EvictionStatus, i int, now time.Time) {
	next := &status.TargetResponders[i]
	next.State = evictionv1alpha1.ResponderStateActive
	statusOf(status, next.Name).StartTime = notBefore(nil, now)
}

func activeOf(status *evictionv1alpha1.EvictionStatus) *evictionv1alpha1.TargetResponder {
	for i := range status.TargetResponders {
		if status.TargetResponders[i].State == evictionv1alpha1.ResponderStateActive {
			return &status.TargetResponders[i]
		}
	}
	return nil
}

// statusOf is the responder's own part. The server lets neither list be without the
// other's names.
func statusOf(status *evictionv1alpha1.EvictionStatus, name string) *evictionv1alpha1.ResponderStatus {
	for i := range status.Responders {
		if status.Responders[i].Name == name {
			return &status.Responders[i]
		}
	}
	return &evictionv1alpha1.ResponderStatus{}
}

// heartbeat is when the responder was heard of last. Kubernetes' server takes no time that
// is more than 30 s ahead of its own; one that a CRD has let through says nothing.
func heartbeat(r *evictionv1alpha1.ResponderStatus, now time.Time) time.Time {
	const ahead = 30 * time.Second
	switch {
	case r.HeartbeatTime != nil && !r.HeartbeatTime.After(now.Add(ahead)):
		return r.HeartbeatTime.Time
	case r.StartTime != nil:
		return r.StartTime.Time
	default:
		return time.Time{}
	}
}

// notBefore is the time, in whole seconds as the API has it, but not before an earlier
// one: that may come from a faster clock.
func notBefore(earlier *metav1.Time, now time.Time) *metav1.Time {
	at := metav1.NewTime(now.Truncate(time.Second))
	if at.Before(earlier) {
		return earlier.DeepCopy()
	}
	return &at
}
