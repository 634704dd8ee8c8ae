// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HeartbeatDeadline is the maximum silence of an active responder before the next one takes over. The API defines it,
// and the server enforces it.
const HeartbeatDeadline = 20 * time.Minute

const (
	// lastReportDelay is the time in which the active responder can report after the end of the target.
	lastReportDelay = 5 * time.Second
	// The first Eviction after a failed one follows at once. Each further one waits twice as long as the one before,
	// from firstPause to longestPause.
	firstPause   = time.Minute
	longestPause = HeartbeatDeadline
	// clockSkew is the server's limit for the difference of a time from its own clock.
	clockSkew = 30 * time.Second
)

// KubernetesControllers are the field managers of Kubernetes' own evictionrequest-controller.
var KubernetesControllers = []string{"kube-controller-manager", "evictionrequest-controller"}

// Target is a pod that requests name.
type Target struct {
	Namespace, Name string
	UID             types.UID
}

// MaxRequests limits the EvictionRequests of one namespace that a watch keeps: its editor can create any number.
const MaxRequests = 5000

// Facts are the known facts about a target at one moment.
type Facts struct {
	Target Target
	// Pod is the pod with that name, whatever its UID; it may be nil.
	Pod *corev1.Pod
	// Confirmed means that Pod is from the API server, not from a cache.
	Confirmed bool
	// Ended is the time at which this process first saw that the target was deleted or had completed. Zero: the target exists.
	Ended time.Time
	// RequestsConfirmed means that Requests are from the API server, not from a cache. Then Pod is, too.
	RequestsConfirmed bool
	// Requests and Evictions are all that name the target.
	Requests  []*evictionv1alpha1.EvictionRequest
	Evictions []*evictionv1alpha1.Eviction
	// Extra are responders for the pod that it does not name.
	Extra []corev1.EvictionResponder
	// Taken are the names of other Evictions in the namespace, whose pods had the same name.
	Taken []string
}

// HasEnded reports whether the target was deleted or has completed.
func (f Facts) HasEnded() bool { return derive(f, time.Time{}).targetEnded() }

// Begins reports whether an Eviction of the target begins, so that its responders are yet to be listed.
func (f Facts) Begins(now time.Time) bool {
	v := derive(f, now)
	switch {
	case v.pod == nil || !v.wanted:
		return false
	case len(v.running) > 0:
		return !slices.ContainsFunc(v.running, func(e *evictionv1alpha1.Eviction) bool { return len(e.Status.TargetResponders) > 0 })
	default:
		return v.over == nil && v.begins()
	}
}

// view is a target with everything that the phases derive from its facts.
type view struct {
	Facts
	now time.Time
	// pod is the target; nil if it was deleted, or if another pod has its name.
	pod *corev1.Pod
	// wanted means that a requester wants the eviction.
	wanted bool
	// running and ended are the Evictions, the oldest first. Only another controller can make a second one run.
	running, ended []*evictionv1alpha1.Eviction
	// last is the ended Eviction that counts: an Eviction that evicted its target, otherwise the newest one that was not
	// superfluous. It may be nil.
	last *evictionv1alpha1.Eviction
	// over is last, unless it is time for another attempt.
	over *evictionv1alpha1.Eviction
	// again is the time of another attempt; zero if over is nil or final.
	again time.Time
}

func derive(f Facts, now time.Time) view {
	v := view{Facts: f, now: now, wanted: slices.ContainsFunc(f.Requests, awaits)}
	if f.Pod != nil && f.Pod.UID == f.Target.UID {
		v.pod = f.Pod
	}
	for _, e := range slices.SortedFunc(slices.Values(f.Evictions), Older) {
		switch {
		case e.DeletionTimestamp != nil:
		case !hasEnded(e):
			v.running = append(v.running, e)
		default:
			v.ended = append(v.ended, e)
			if !superfluous(e) && (v.last == nil || !evicted(v.last)) {
				v.last = e
			}
		}
	}
	if v.last == nil || evicted(v.last) || !v.wanted {
		v.over = v.last
	} else if again := v.nextAttempt(); now.Before(again) {
		v.over, v.again = v.last, again
	}
	return v
}

// targetEnded reports whether the target was deleted or has completed.
func (v view) targetEnded() bool { return v.pod == nil || terminal(v.pod) }

// nextAttempt returns the time of the Eviction after a failed one. A request that the controller has not processed
// does not wait.
func (v view) nextAttempt() time.Time {
	isNew := func(r *evictionv1alpha1.EvictionRequest) bool { return awaits(r) && !observed(r) }
	if v.targetEnded() || slices.ContainsFunc(v.Requests, isNew) {
		return time.Time{}
	}
	var pause time.Duration
	failures := 0
	for _, e := range v.ended {
		if failedFor(e.Status.Conditions, evictionv1alpha1.EvictionConditionReasonNoFurtherResponder) {
			failures++
		}
	}
	for range failures - 1 {
		pause = min(max(2*pause, firstPause), longestPause)
	}
	return apimeta.FindStatusCondition(v.last.Status.Conditions, conditionFailed).LastTransitionTime.Add(pause)
}

// Older orders Evictions by creation. In the same second, an Eviction with responders comes first.
func Older(a, b *evictionv1alpha1.Eviction) int {
	return cmp.Or(
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(len(b.Status.TargetResponders), len(a.Status.TargetResponders)),
		cmp.Compare(number(a.Name), number(b.Name)),
		strings.Compare(a.Name, b.Name),
	)
}

// wanted reports whether the requester wants the eviction.
func wanted(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction && r.DeletionTimestamp == nil
}

// awaits reports whether the requester wants the eviction, and its outcome may still change.
func awaits(r *evictionv1alpha1.EvictionRequest) bool { return wanted(r) && !permanent(r) }

// observed reports whether the status of a request is about its current spec.
func observed(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

// begins reports whether requests without a current Eviction need a step.
func (v view) begins() bool { return v.last != nil || slices.ContainsFunc(v.Requests, unsettled) }

// unsettled reports whether the status of a request lacks the end.
func unsettled(r *evictionv1alpha1.EvictionRequest) bool {
	return !observed(r) || !final(r.Status.Conditions)
}

// LedUntil returns the time until which Kubernetes' own controller counts as working on an Eviction, because it has
// written the active responder; zero without such a write. A user with access to the status can forge the field
// manager. Therefore this Eviction alone is left to that controller, for as long as it could be silent.
func LedUntil(e *evictionv1alpha1.Eviction, now time.Time) (until time.Time) {
	for _, m := range e.ManagedFields {
		if leads(m) && !hasEnded(e) && !m.Time.After(now.Add(clockSkew)) && m.Time.Add(HeartbeatDeadline).After(until) {
			until = m.Time.Add(HeartbeatDeadline)
		}
	}
	return until
}

// KeepLeader drops the managed fields that LedUntil does not need.
func KeepLeader(e *evictionv1alpha1.Eviction) {
	e.ManagedFields = slices.DeleteFunc(e.ManagedFields, func(m metav1.ManagedFieldsEntry) bool { return !leads(m) })
}

// leads reports whether Kubernetes' own controller has written an active responder. Its garbage collector writes owners
// under the same name.
func leads(m metav1.ManagedFieldsEntry) bool {
	return slices.Contains(KubernetesControllers, m.Manager) && m.Subresource == "status" && m.Time != nil &&
		m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:targetResponders"`)
}

// ledUntil returns the end of the time in which the target is left to another controller; zero if it is not.
func (v view) ledUntil() (until time.Time) {
	for _, e := range v.running {
		if at := LedUntil(e, v.now); at.After(v.now) && at.After(until) {
			until = at
		}
	}
	return until
}
