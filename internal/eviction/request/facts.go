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

// HeartbeatDeadline is how long an active responder may be silent before the next one takes over. It is
// defined by the API, and enforced by the server.
const HeartbeatDeadline = 20 * time.Minute

// KubernetesController is the field manager of Kubernetes' own evictionrequest-controller.
const KubernetesController = "kube-controller-manager"

// Target is a pod that requests name.
type Target struct {
	Namespace, Name string
	UID             types.UID
}

// Facts are what is known of a target at one moment.
type Facts struct {
	Target Target
	// Pod is the pod of that name, whatever its UID; nil if there is none.
	Pod *corev1.Pod
	// Confirmed says that Pod is from the API server, not from a cache.
	Confirmed bool
	// RequestsConfirmed says that Requests are from the API server, not from a cache. Then Pod is, too.
	RequestsConfirmed bool
	// Requests and Evictions are all that name the target.
	Requests  []*evictionv1alpha1.EvictionRequest
	Evictions []*evictionv1alpha1.Eviction
	// Extra are responders for the pod that it does not name.
	Extra []corev1.EvictionResponder
	// Taken are the names of other Evictions in the namespace, whose pods had the same name.
	Taken []string
}

// Begins says whether an Eviction of the target begins, so that its responders are yet to be listed.
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
	// pod is the target; nil if it is gone, or another pod has its name.
	pod *corev1.Pod
	// wanted says whether a requester wants the eviction.
	wanted bool
	// running and ended are the Evictions, the oldest first. Only another controller can make a second one run.
	running, ended []*evictionv1alpha1.Eviction
	// last is the ended Eviction that counts: the one whose target is gone, or else the newest of those that were
	// not superfluous. nil: there is none.
	last *evictionv1alpha1.Eviction
	// over is last, unless a requester has asked for another attempt since.
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

// older orders Evictions by creation. Of those of the same second, one with responders comes first.
func older(a, b *evictionv1alpha1.Eviction) int {
	return cmp.Or(
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(len(b.Status.TargetResponders), len(a.Status.TargetResponders)),
		cmp.Compare(number(a.Name), number(b.Name)),
		strings.Compare(a.Name, b.Name),
	)
}

// wanted says whether the requester wants the eviction.
func wanted(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction && r.DeletionTimestamp == nil
}

// observed says whether the status of a request is about its current spec.
func observed(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Status.ObservedGeneration != nil && *r.Status.ObservedGeneration == r.Generation
}

// unsettled says whether the status of a request does not report the end yet.
func unsettled(r *evictionv1alpha1.EvictionRequest) bool {
	return !observed(r) || !final(r.Status.Conditions)
}

// renewedSince says whether a requester has asked for the eviction since an Eviction ended. A request without any
// status, because the controller died, may have been served by that Eviction.
func renewedSince(last *evictionv1alpha1.Eviction) func(*evictionv1alpha1.EvictionRequest) bool {
	return func(r *evictionv1alpha1.EvictionRequest) bool {
		return wanted(r) && !observed(r) && (r.Status.ObservedGeneration != nil || !served(last, r))
	}
}

// served says whether an Eviction was the request's, and the requester wanted it when it ended.
func served(e *evictionv1alpha1.Eviction, r *evictionv1alpha1.EvictionRequest) bool {
	owns := func(o metav1.OwnerReference) bool { return o.UID == r.UID }
	wants := evictionv1alpha1.Requester{Name: r.Spec.Requester, Intent: evictionv1alpha1.RequesterIntentEviction}
	return slices.ContainsFunc(e.OwnerReferences, owns) && slices.Contains(e.Status.Requesters, wants)
}

// IsOfKubernetes says whether Kubernetes' own controller is at work on an Eviction: it has written lately whose
// turn it is. Nothing else proves that. The garbage collector writes owners under the same name; an Eviction of
// a controller that was switched off is as old as that; and anyone with access to a namespace can forge the field
// managers of requests.
func IsOfKubernetes(e *evictionv1alpha1.Eviction, now time.Time) bool {
	return !hasEnded(e) && slices.ContainsFunc(e.ManagedFields, func(m metav1.ManagedFieldsEntry) bool {
		return m.Manager == KubernetesController && m.Subresource == "status" &&
			m.FieldsV1 != nil && strings.Contains(m.FieldsV1.GetRawString(), `"f:targetResponders"`) &&
			m.Time != nil && now.Sub(m.Time.Time) < HeartbeatDeadline
	})
}
