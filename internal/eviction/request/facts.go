// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// HeartbeatDeadline is the maximum silence of an active responder before the next one takes over. The API defines it,
// and the server enforces it.
const HeartbeatDeadline = 20 * time.Minute

// KubernetesController is the field manager of Kubernetes' own evictionrequest-controller.
const KubernetesController = "kube-controller-manager"

// Target is a pod that requests name.
type Target struct {
	Namespace, Name string
	UID             types.UID
}

// Facts are the known facts about a target at one moment.
type Facts struct {
	Target Target
	// Pod is the pod with that name, whatever its UID; it may be nil.
	Pod *corev1.Pod
	// Confirmed means that Pod is from the API server, not from a cache.
	Confirmed bool
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

// Begins reports whether an Eviction of the target begins, so that its responders are yet to be listed.
func (f Facts) Begins() bool {
	v := derive(f, time.Time{})
	switch {
	case v.pod == nil || !v.wanted:
		return false
	case len(v.running) > 0:
		return !slices.ContainsFunc(v.running, func(e *evictionv1alpha1.Eviction) bool { return len(e.Status.TargetResponders) > 0 })
	default:
		return v.over == nil && slices.ContainsFunc(f.Requests, unsettled)
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
	// over is last, unless a requester has wanted another attempt since.
	over *evictionv1alpha1.Eviction
}

func derive(f Facts, now time.Time) view {
	v := view{Facts: f, now: now, wanted: slices.ContainsFunc(f.Requests, wanted)}
	if f.Pod != nil && f.Pod.UID == f.Target.UID {
		v.pod = f.Pod
	}
	for _, e := range slices.SortedFunc(slices.Values(f.Evictions), older) {
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
	if v.last != nil && (evicted(v.last) || !slices.ContainsFunc(f.Requests, renewedSince(v.last))) {
		v.over = v.last
	}
	return v
}

// older orders Evictions by creation. In the same second, an Eviction with responders comes first.
func older(a, b *evictionv1alpha1.Eviction) int {
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

// observed reports whether the status of a request is about its current spec.
func observed(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

// unsettled reports whether the status of a request lacks the end.
func unsettled(r *evictionv1alpha1.EvictionRequest) bool {
	return !observed(r) || !final(r.Status.Conditions)
}

// renewedSince reports whether a requester wants another eviction after an Eviction has ended. A request may lack a status
// because the controller died: that Eviction may have served it.
func renewedSince(last *evictionv1alpha1.Eviction) func(*evictionv1alpha1.EvictionRequest) bool {
	return func(r *evictionv1alpha1.EvictionRequest) bool {
		return wanted(r) && !observed(r) && (r.Status.ObservedGeneration != nil || !served(last, r))
	}
}

// served reports whether an Eviction was the request's, and the requester wanted it when it ended.
func served(e *evictionv1alpha1.Eviction, r *evictionv1alpha1.EvictionRequest) bool {
	owns := func(o metav1.OwnerReference) bool { return o.UID == r.UID }
	wants := evictionv1alpha1.Requester{Name: r.Spec.Requester, Intent: evictionv1alpha1.RequesterIntentEviction}
	return slices.ContainsFunc(e.OwnerReferences, owns) && slices.Contains(e.Status.Requesters, wants)
}

// IsOfKubernetes reports whether Kubernetes' own controller works on an Eviction: it has written the active responder
// lately. No other trace proves that. The garbage collector writes owners under the same name; an Eviction of
// a controller that was switched off is as old as that; and anyone with access to a namespace can forge the field
// managers of requests.
func IsOfKubernetes(e *evictionv1alpha1.Eviction, now time.Time) bool {
	return !hasEnded(e) && slices.ContainsFunc(e.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == KubernetesController && m.Subresource == "status" &&
			m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:targetResponders"`) &&
			m.Time != nil && now.Sub(m.Time.Time) < HeartbeatDeadline
	})
}
