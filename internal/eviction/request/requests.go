// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"slices"
	"strings"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// maxRequesters is how many an Eviction lists.
const maxRequesters = 100

// tell is the step that tells the next request how it stands; nil when all know.
func tell(f Facts, o outcome, now time.Time) Step {
	for _, r := range slices.SortedFunc(slices.Values(f.Requests), func(a, b *evictionv1alpha1.EvictionRequest) int {
		return strings.Compare(a.Name, b.Name)
	}) {
		status := *r.Status.DeepCopy()
		status.ObservedGeneration = new(r.Generation)
		o.applyTo(&status.Conditions, r.Generation, now)
		if !equality.Semantic.DeepEqual(status, r.Status) {
			return WriteRequest{Request: r, Status: status}
		}
	}
	return nil
}

// requesters are those of the requests, and those that were there before: what is gone
// counts as withdrawn. A requester with several requests wants what one of them wants.
func requesters(requests []*evictionv1alpha1.EvictionRequest, before []evictionv1alpha1.Requester) []evictionv1alpha1.Requester {
	intents := map[string]evictionv1alpha1.RequesterIntent{}
	for _, r := range before {
		intents[r.Name] = evictionv1alpha1.RequesterIntentWithdrawn
	}
	for _, r := range requests {
		switch _, known := intents[r.Spec.Requester]; {
		case wanted(r):
			intents[r.Spec.Requester] = evictionv1alpha1.RequesterIntentEviction
		case !known:
			intents[r.Spec.Requester] = evictionv1alpha1.RequesterIntentWithdrawn
		}
	}
	var all []evictionv1alpha1.Requester
	for name, intent := range intents {
		all = append(all, evictionv1alpha1.Requester{Name: name, Intent: intent})
	}
	if len(all) > maxRequesters { // "Eviction" comes before "Withdrawn"
		slices.SortFunc(all, func(a, b evictionv1alpha1.Requester) int {
			return cmp.Or(strings.Compare(string(a.Intent), string(b.Intent)), strings.Compare(a.Name, b.Name))
		})
		all = all[:maxRequesters]
	}
	slices.SortFunc(all, func(a, b evictionv1alpha1.Requester) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// older is the order in which Evictions were created. Of those of one second, one that has
// begun comes first.
func older(a, b *evictionv1alpha1.Eviction) int {
	return cmp.Or(
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(len(b.Status.TargetResponders), len(a.Status.TargetResponders)),
		cmp.Compare(number(a.Name), number(b.Name)),
		strings.Compare(a.Name, b.Name),
	)
}
