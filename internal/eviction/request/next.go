// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Decision is one step, or the time of the next decision about unchanged facts.
type Decision struct {
	// Step may be nil.
	Step Step
	// Wake is zero when only a change of the facts can lead to a step.
	Wake time.Time
	// Yields means that another controller works on an Eviction of the target, which is left to it until Wake.
	Yields bool
}

// Step is one step. Repeating it is harmless.
type Step interface{ isStep() }

type (
	// Confirm reads the target and the requests of these names from the API server: a cache may not show them
	// yet, or may show old ones. The facts are then gathered again.
	Confirm struct {
		Requests []string
	}
	// Create creates an Eviction. If its name is taken, the cache is behind: the facts are gathered again when it
	// has caught up.
	Create struct {
		Eviction *evictionv1alpha1.Eviction
	}
	// Adopt replaces labels and owners of an Eviction.
	Adopt struct {
		Eviction *evictionv1alpha1.Eviction
		Labels   map[string]string
		Owners   []metav1.OwnerReference
	}
	// WriteEviction replaces the status of an Eviction, if it has not changed since: responders write there, too.
	WriteEviction struct {
		Eviction *evictionv1alpha1.Eviction
		Status   evictionv1alpha1.EvictionStatus
	}
	// WriteRequest replaces the status of a request, if it has not changed since.
	WriteRequest struct {
		Request *evictionv1alpha1.EvictionRequest
		Status  evictionv1alpha1.EvictionRequestStatus
	}
	// Delete deletes an Eviction without requests.
	Delete struct {
		Eviction *evictionv1alpha1.Eviction
	}
)

func (Confirm) isStep()       {}
func (Create) isStep()        {}
func (Adopt) isStep()         {}
func (WriteEviction) isStep() {}
func (WriteRequest) isStep()  {}
func (Delete) isStep()        {}

// Next returns the next step for a target.
func Next(f Facts, now time.Time) Decision {
	v := derive(f, now)
	if until := v.ledUntil(); !until.IsZero() {
		return Decision{Wake: until, Yields: true}
	}
	if names := v.doubtful(); len(names) > 0 {
		return Decision{Step: Confirm{Requests: names}}
	}
	switch {
	case len(v.Requests) == 0:
		return v.discard()
	case len(v.running) > 1:
		return v.end(v.running[1], outcomeSuperfluous)
	case len(v.running) == 1:
		e := v.running[0]
		decision := v.drive(e)
		if decision.Step == nil {
			decision.Step = v.report(outcomeOf(e))
		}
		return decision
	case v.over != nil:
		return Decision{Step: v.report(outcomeOf(v.over)), Wake: v.again}
	default:
		return v.begin()
	}
}

// doubtful returns the names of the requests that need a confirmation before a step: the facts would revoke a former
// write. Requests and Evictions come from two watches. If that of the requests is behind, the Evictions are
// right.
func (v view) doubtful() []string {
	if v.RequestsConfirmed || !v.revokes() {
		return nil
	}
	names := map[string]bool{}
	for _, r := range v.Requests {
		names[r.Name] = true
	}
	for _, e := range v.Evictions {
		for _, o := range e.OwnerReferences {
			if isRequest(o) {
				names[o.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// revokes reports whether a requester of a running Eviction has changed its intent or was deleted, or whether a requester
// of an ended Eviction wants another attempt.
func (v view) revokes() bool {
	if len(v.running) == 0 {
		return v.last != nil && (len(v.Requests) == 0 || v.over == nil)
	}
	return slices.ContainsFunc(v.running, func(e *evictionv1alpha1.Eviction) bool {
		now := v.requesters(e)
		changed := func(r evictionv1alpha1.Requester) bool { return !slices.Contains(now, r) }
		return slices.ContainsFunc(e.Status.Requesters, changed) || slices.ContainsFunc(e.OwnerReferences, v.lost)
	})
}

// lost reports whether an owner is a request that does not exist.
func (v view) lost(o metav1.OwnerReference) bool {
	return isRequest(o) && !slices.ContainsFunc(v.Requests, func(r *evictionv1alpha1.EvictionRequest) bool { return r.UID == o.UID })
}

// discard ends and deletes Evictions without requests. The garbage collector is usually faster, because their owners
// were deleted.
func (v view) discard() Decision {
	switch {
	case len(v.running) > 0:
		return v.end(v.running[0], outcomeCanceled)
	case len(v.ended) > 0:
		return Decision{Step: Delete{Eviction: v.ended[0]}}
	default:
		return Decision{}
	}
}

// begin creates an Eviction, if it is wanted and possible.
func (v view) begin() Decision {
	switch {
	case !v.begins():
		return Decision{}
	case !v.wanted:
		return Decision{Step: v.report(outcomeCanceled)}
	case v.pod == nil && !v.Confirmed:
		return Decision{Step: Confirm{}}
	case v.pod == nil && v.last != nil:
		return Decision{Step: v.report(outcomeEvicted(podGone(v.Target)))}
	}
	if why := v.invalid(); why != "" {
		return Decision{Step: v.report(outcomeInvalid(why))}
	}
	if terminal(v.pod) {
		return Decision{Step: v.report(outcomeEvicted(podTerminal(v.pod)))}
	}
	return Decision{Step: Create{Eviction: v.newEviction()}}
}

// drive returns the next step of a running Eviction.
func (v view) drive(e *evictionv1alpha1.Eviction) Decision {
	if adopt := (Adopt{Eviction: e, Labels: v.labels(e), Owners: v.owners(e)}); !maps.Equal(adopt.Labels, e.Labels) ||
		!equality.Semantic.DeepEqual(adopt.Owners, e.OwnerReferences) {
		return Decision{Step: adopt}
	}
	switch wait := v.lastReport(e); {
	case v.targetEnded() && v.now.Before(wait):
		return Decision{Wake: wait}
	case v.pod == nil && !v.Confirmed:
		return Decision{Step: Confirm{}}
	case v.pod == nil:
		return write(e, v.succeeded(e, podGone(v.Target)))
	case terminal(v.pod):
		return write(e, v.succeeded(e, podTerminal(v.pod)))
	case !v.wanted:
		return v.end(e, outcomeCanceled)
	}
	if why := v.invalid(); why != "" {
		return v.end(e, outcomeInvalid(why))
	}
	if len(e.Status.TargetResponders) == 0 {
		return write(e, v.started(e))
	}
	status, wake := v.turned(e)
	if final(status.Conditions) && !v.Confirmed {
		return Decision{Step: Confirm{}} // the last responder may know of the deletion of the pod before a cache
	}
	decision := write(e, status)
	if decision.Step == nil {
		decision.Wake = wake
	}
	return decision
}

// end ends an Eviction whose target is still there.
func (v view) end(e *evictionv1alpha1.Eviction, how outcome) Decision {
	return write(e, v.failed(e, how))
}

// write writes a status that has changed.
func write(e *evictionv1alpha1.Eviction, status evictionv1alpha1.EvictionStatus) Decision {
	if equality.Semantic.DeepEqual(status, e.Status) {
		return Decision{}
	}
	return Decision{Step: WriteEviction{Eviction: e, Status: status}}
}

// invalid returns the reason for which a request cannot evict the target; empty without a reason.
func (v view) invalid() string {
	switch {
	case v.pod == nil && v.Pod != nil:
		return fmt.Sprintf("Target Pod %s with UID %s was not found; there is one of that name with another UID", v.Target.Name, v.Target.UID)
	case v.pod == nil:
		return fmt.Sprintf("Target Pod %s was not found", v.Target.Name)
	case v.pod.Spec.SchedulingGroup != nil:
		return fmt.Sprintf("Target Pod %s is part of a PodGroup; the eviction of such pods is not supported", v.Target.Name)
	default:
		return ""
	}
}

// lastReport returns the time until which the active responder can report after the end of the target.
func (v view) lastReport(e *evictionv1alpha1.Eviction) time.Time {
	active := activeOf(&e.Status)
	if active == nil || statusOf(&e.Status, active.Name).CompletionTime != nil {
		return time.Time{}
	}
	return v.Ended.Add(lastReportDelay)
}

func terminal(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}
