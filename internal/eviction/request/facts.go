// SPDX-License-Identifier: Apache-2.0

package request

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// HeartbeatDeadline is how long an active responder may be silent before the next one
// takes over. It is the API's own, and the server holds it.
const HeartbeatDeadline = 20 * time.Minute

// Target is a pod that somebody wants to have evicted.
type Target struct {
	Namespace, Name string
	UID             types.UID
}

// Facts are what is known of a target at one moment.
type Facts struct {
	Target Target
	// Pod is the pod of that name, whatever its UID; nil if there is none.
	Pod *corev1.Pod
	// Confirmed tells that the API server, not a cache, has said that the pod is not there.
	Confirmed bool
	// RequestsConfirmed tells that the API server, not a cache, has said what the requests
	// are. Then it has said that of the pod as well.
	RequestsConfirmed bool
	// Requests and Evictions are all that name the target.
	Requests  []*evictionv1alpha1.EvictionRequest
	Evictions []*evictionv1alpha1.Eviction
	// Extra are responders that are for the pod although it does not name them.
	Extra []corev1.EvictionResponder
	// Taken are the names of other Evictions in the namespace, of pods that had the same
	// name before.
	Taken []string
}

// target is the pod, unless another one has its name by now.
func (f Facts) target() *corev1.Pod {
	if f.Pod == nil || f.Pod.UID != f.Target.UID {
		return nil
	}
	return f.Pod
}

// Begins tells whether an Eviction of the target begins, so that its responders are yet to
// be listed.
func (f Facts) Begins() bool {
	if f.target() == nil || !f.anyWanted() {
		return false
	}
	if running := f.running(); len(running) > 0 {
		return !slices.ContainsFunc(running, func(e *evictionv1alpha1.Eviction) bool { return len(e.Status.TargetResponders) > 0 })
	}
	return f.over() == nil && slices.ContainsFunc(f.Requests, unsettled)
}

// over is the Eviction that has ended and with which it ends; nil if there is none, or
// somebody has asked anew.
func (f Facts) over() *evictionv1alpha1.Eviction {
	last := f.last()
	if last != nil && (evicted(last) || !slices.ContainsFunc(f.Requests, renewedSince(last))) {
		return last
	}
	return nil
}

// wanted says whether a requester still wants what the request says.
func wanted(r *evictionv1alpha1.EvictionRequest) bool {
	return r.Spec.Intent == evictionv1alpha1.EvictionRequestIntentEviction && r.DeletionTimestamp == nil
}

func (f Facts) anyWanted() bool { return slices.ContainsFunc(f.Requests, wanted) }

// running are the Evictions that have not ended, the oldest first. There is more than
// one only if somebody else has created one.
func (f Facts) running() []*evictionv1alpha1.Eviction {
	return f.evictions(func(e *evictionv1alpha1.Eviction) bool { return !ended(e) })
}

// last is the Eviction that counts of those that have ended: the one whose target is
// gone, or else the newest. Those that never counted are left out.
func (f Facts) last() *evictionv1alpha1.Eviction {
	all := f.evictions(func(e *evictionv1alpha1.Eviction) bool { return ended(e) && !superfluous(e) })
	if i := slices.IndexFunc(all, evicted); i >= 0 {
		return all[i]
	}
	if len(all) == 0 {
		return nil
	}
	return all[len(all)-1]
}

func (f Facts) evictions(which func(*evictionv1alpha1.Eviction) bool) []*evictionv1alpha1.Eviction {
	var all []*evictionv1alpha1.Eviction
	for _, e := range f.Evictions {
		if which(e) && e.DeletionTimestamp == nil {
			all = append(all, e)
		}
	}
	slices.SortFunc(all, older)
	return all
}
