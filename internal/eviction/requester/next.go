// SPDX-License-Identifier: Apache-2.0

package requester

import (
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Next are the next steps for an event, in any order. None: nothing is to be done until
// the facts change.
func Next(f Facts) []Step {
	named := map[lifecyclev1alpha1.PodReference]bool{}
	for _, pod := range f.named() {
		named[pod] = true
	}
	var steps []Step
	asked := map[lifecyclev1alpha1.PodReference]bool{}
	for _, r := range f.Requests {
		pod := subject(r)
		asked[pod] = true
		if step := lookAfter(f, r, named[pod]); step != nil {
			steps = append(steps, step)
		}
	}
	if f.Event == nil && !f.Confirmed {
		if len(steps) == 0 {
			return nil
		}
		return []Step{Confirm{}}
	}
	for _, pod := range f.named() {
		if asked[pod] || f.Settled[pod] {
			continue
		}
		asked[pod] = true
		if step := begin(f, pod); step != nil {
			steps = append(steps, step)
		}
	}
	return steps
}

// lookAfter is the next step for a request whose pod is still named, or is not any more.
func lookAfter(f Facts, r *evictionv1alpha1.EvictionRequest, named bool) Step {
	withdrawn := r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentWithdrawn
	switch {
	case r.DeletionTimestamp != nil:
		return nil
	case processed(r) && (evicted(r) || withdrawn):
		// A request that was withdrawn has done its work once that was seen. While others
		// want the eviction, it goes on, and the conditions say no more. If its pod is named
		// again, it is asked for anew.
		return Delete{Request: r}
	case withdrawn:
		return nil // until it is processed
	case named:
		return again(f, r)
	case processed(r) && failed(r):
		return Delete{Request: r}
	default:
		return Withdraw{Request: r}
	}
}

// again is the next step for a request whose pod is still named. Nobody else evicts the pod
// if the event asks for all its pods: after a while, it is asked for anew.
func again(f Facts, r *evictionv1alpha1.EvictionRequest) Step {
	if !processed(r) || !exhausted(r) || !asksForAll(f.Event) {
		return nil // until the pod is gone
	}
	pod := subject(r)
	switch wait := f.Waits[pod]; {
	case wait.Request != r.UID:
		return Wait{Pod: pod, Request: r.UID}
	case wait.Over:
		return Delete{Request: r}
	default:
		return nil
	}
}

// begin is the next step for a pod that is named and not asked for.
func begin(f Facts, pod lifecyclev1alpha1.PodReference) Step {
	if !isPod(pod) {
		return Refuse{Event: f.Event, Pod: pod, Why: "there can be no such pod", Lies: true}
	}
	if wait, waits := f.Waits[pod]; waits && wait.Request == "" && !wait.Over && !asksForAll(f.Event) {
		return nil
	}
	seen, looked := f.Seen[pod]
	if !looked {
		return Look{Pod: pod}
	}
	if refusal := refuse(f.Event, pod, seen.Pod); refusal != nil {
		return *refusal
	}
	if !seen.Responders {
		return Wait{Pod: pod} // that can change
	}
	return Ask{Request: newRequest(f.Event, pod)}
}
