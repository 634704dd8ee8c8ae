// SPDX-License-Identifier: Apache-2.0

package request

import (
	"maps"
	"slices"
	"strings"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// doubtful are the names of the requests that the API server has to be asked for before
// anything is done: by them, something that was written is to be taken back. Requests and
// Evictions come from two watches, and of these the one of the requests may be behind: then
// whoever wrote knew better.
func (f Facts) doubtful() []string {
	if f.RequestsConfirmed || !f.takesBack() {
		return nil
	}
	names := map[string]bool{}
	for _, r := range f.Requests {
		names[r.Name] = true
	}
	for _, e := range f.Evictions {
		for _, o := range e.OwnerReferences {
			names[o.Name] = names[o.Name] || isRequest(o)
		}
	}
	maps.DeleteFunc(names, func(_ string, asks bool) bool { return !asks })
	return slices.Sorted(maps.Keys(names))
}

// takesBack says whether a requester of an Eviction that runs wants something else by now,
// or is gone, or one of an Eviction that has ended asks anew.
func (f Facts) takesBack() bool {
	running := f.running()
	if len(running) == 0 {
		last := f.last()
		return last != nil && (len(f.Requests) == 0 || f.over() == nil)
	}
	return slices.ContainsFunc(running, func(e *evictionv1alpha1.Eviction) bool {
		now := requesters(f.Requests, e.Status.Requesters)
		changed := func(r evictionv1alpha1.Requester) bool { return !slices.Contains(now, r) }
		return slices.ContainsFunc(e.Status.Requesters, changed) || slices.ContainsFunc(e.OwnerReferences, f.lost)
	})
}

// lost says whether an owner is a request that is not there.
func (f Facts) lost(o metav1.OwnerReference) bool {
	return isRequest(o) && !slices.ContainsFunc(f.Requests, func(r *evictionv1alpha1.EvictionRequest) bool { return r.UID == o.UID })
}

func isRequest(o metav1.OwnerReference) bool {
	return o.Kind == requestKind && strings.HasPrefix(o.APIVersion, evictionv1alpha1.SchemeGroupVersion.Group+"/")
}
