// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Next is the next step for a target.
func Next(f Facts, now time.Time) Decision {
	running := f.running()
	if names := f.doubtful(); len(names) > 0 {
		return Decision{Step: Confirm{Requests: names}}
	}
	switch {
	case len(f.Requests) == 0:
		return discard(f, now)
	case len(running) > 1:
		return write(running[1], failed(running[1], f, outcomeSuperfluous, now))
	case len(running) == 1:
		decision := drive(f, running[0], now)
		if decision.Step == nil {
			decision.Step = tell(f, outcomeOf(running[0]), now)
		}
		return decision
	}
	if last := f.over(); last != nil {
		return Decision{Step: tell(f, outcomeOf(last), now)}
	}
	return begin(f, now)
}

// discard ends and deletes the Evictions that nobody asks for any more. Mostly the
// garbage collector is faster: their owners are gone.
func discard(f Facts, now time.Time) Decision {
	for _, e := range f.running() {
		return write(e, canceled(e, f, now))
	}
	for _, e := range f.evictions(ended) {
		return Decision{Step: Delete{Eviction: e}}
	}
	return Decision{}
}

// begin creates an Eviction, unless nobody wants it or it cannot be.
func begin(f Facts, now time.Time) Decision {
	if !slices.ContainsFunc(f.Requests, unsettled) {
		return Decision{}
	}
	if !f.anyWanted() {
		return Decision{Step: tell(f, outcomeCanceled, now)}
	}
	pod := f.target()
	if pod == nil && !f.Confirmed {
		return Decision{Step: Confirm{}}
	}
	if why := invalid(f); why != "" {
		return Decision{Step: tell(f, outcomeInvalid(why), now)}
	}
	if terminal(pod) {
		return Decision{Step: tell(f, outcomeEvicted(podTerminal(pod)), now)}
	}
	return Decision{Step: Create{Eviction: newEviction(f)}}
}

// drive takes a running Eviction one step further.
func drive(f Facts, e *evictionv1alpha1.Eviction, now time.Time) Decision {
	if step := adopt(f, e); step != nil {
		return Decision{Step: step}
	}
	pod := f.target()
	switch {
	case pod == nil && !f.Confirmed:
		return Decision{Step: Confirm{}}
	case pod == nil:
		return write(e, succeeded(e, f, podGone(f), now))
	case terminal(pod):
		return write(e, succeeded(e, f, podTerminal(pod), now))
	case !f.anyWanted():
		return write(e, canceled(e, f, now))
	case invalid(f) != "":
		return write(e, failed(e, f, outcomeInvalid(invalid(f)), now))
	case len(e.Status.TargetResponders) == 0:
		return write(e, started(e, f, f.respondersOf(pod), now))
	}
	status, wake := turned(e, f, now)
	if final(status.Conditions) && !f.Confirmed {
		return Decision{Step: Confirm{}} // the last responder may know before a cache that the pod is gone
	}
	return write(e, status).or(wake)
}

// write writes a status, unless it stands there already.
func write(e *evictionv1alpha1.Eviction, status evictionv1alpha1.EvictionStatus) Decision {
	if equality.Semantic.DeepEqual(status, e.Status) {
		return Decision{}
	}
	return Decision{Step: WriteEviction{Eviction: e, Status: status}}
}

// or adds when to look again.
func (d Decision) or(wake time.Time) Decision {
	if d.Step == nil {
		d.Wake = wake
	}
	return d
}

// invalid says why the target cannot be evicted by request; empty if it can.
func invalid(f Facts) string {
	switch pod := f.target(); {
	case pod == nil && f.Pod != nil:
		return fmt.Sprintf("Target Pod %s with UID %s was not found; there is one of that name with another UID", f.Target.Name, f.Target.UID)
	case pod == nil:
		return fmt.Sprintf("Target Pod %s was not found", f.Target.Name)
	case pod.Spec.SchedulingGroup != nil:
		return fmt.Sprintf("Target Pod %s is part of a PodGroup; the eviction of such pods is not supported", f.Target.Name)
	default:
		return ""
	}
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// renewedSince says whether a requester has said that it wants the eviction since the
// controller last looked. One that was never told anything, because the controller died,
// may have had its Eviction all the same.
func renewedSince(last *evictionv1alpha1.Eviction) func(*evictionv1alpha1.EvictionRequest) bool {
	return func(r *evictionv1alpha1.EvictionRequest) bool {
		return wanted(r) && !observed(r) && (r.Status.ObservedGeneration != nil || !served(last, r))
	}
}

// served says whether an Eviction was the request's, and the requester wanted it when it
// ended.
func served(e *evictionv1alpha1.Eviction, r *evictionv1alpha1.EvictionRequest) bool {
	owns := func(o metav1.OwnerReference) bool { return o.UID == r.UID }
	wants := evictionv1alpha1.Requester{Name: r.Spec.Requester, Intent: evictionv1alpha1.RequesterIntentEviction}
	return slices.ContainsFunc(e.OwnerReferences, owns) && slices.Contains(e.Status.Requesters, wants)
}

// unsettled says whether the requester is still to be told how it ended.
func unsettled(r *evictionv1alpha1.EvictionRequest) bool {
	return !observed(r) || !final(r.Status.Conditions)
}

func observed(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}
