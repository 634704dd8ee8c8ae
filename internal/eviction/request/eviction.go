// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// newEviction is an Eviction of the target. Its name is the first that is free, so that
// creating it twice fails the second time.
func newEviction(f Facts) *evictionv1alpha1.Eviction {
	e := &evictionv1alpha1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Target.Namespace, Name: name(f)},
		Spec: evictionv1alpha1.EvictionSpec{Target: evictionv1alpha1.EvictionTarget{
			Pod: &evictionv1alpha1.EvictionPodReference{Name: f.Target.Name, UID: f.Target.UID},
		}},
	}
	e.Labels, e.OwnerReferences = labels(f, e), owners(f, e)
	return e
}

// name is pod-N-NAME, with the N after the highest that is taken.
func name(f Facts) string {
	n := 0
	for _, taken := range f.Taken {
		n = max(n, number(taken))
	}
	for _, e := range f.Evictions {
		n = max(n, number(e.Name))
	}
	text := fmt.Sprintf("pod-%d-%s", n+1, f.Target.Name)
	if len(text) <= validation.DNS1123SubdomainMaxLength {
		return text
	}
	return strings.TrimRight(text[:validation.DNS1123SubdomainMaxLength], ".-")
}

// number is the N of pod-N-NAME; 0 for another name.
func number(name string) int {
	rest, ok := strings.CutPrefix(name, "pod-")
	if !ok {
		return 0
	}
	digits, _, _ := strings.Cut(rest, "-")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// adopt gives the Eviction the labels and owners that it should have; nil if it has.
func adopt(f Facts, e *evictionv1alpha1.Eviction) Step {
	step := Adopt{Eviction: e, Labels: labels(f, e), Owners: owners(f, e)}
	if maps.Equal(step.Labels, e.Labels) && equality.Semantic.DeepEqual(step.Owners, e.OwnerReferences) {
		return nil
	}
	return step
}

// labels name each requester and each responder, with its part, besides the labels of
// others.
func labels(f Facts, e *evictionv1alpha1.Eviction) map[string]string {
	all := maps.Clone(e.Labels)
	if all == nil {
		all = map[string]string{}
	}
	// Of requesters, no more are named than are listed.
	maps.DeleteFunc(all, func(_, role string) bool {
		return role == string(evictionv1alpha1.EvictionParticipantRoleRequester) || role == string(evictionv1alpha1.EvictionParticipantRoleRequesterResponder)
	})
	asks := map[string]bool{}
	for _, r := range requesters(f.Requests, e.Status.Requesters) {
		asks[r.Name] = true
		all[r.Name] = string(evictionv1alpha1.EvictionParticipantRoleRequester)
	}
	responders := e.Status.TargetResponders
	if pod := f.target(); len(responders) == 0 && pod != nil {
		responders = targetResponders(f.respondersOf(pod))
	}
	for _, r := range responders {
		role := evictionv1alpha1.EvictionParticipantRoleResponder
		if asks[r.Name] {
			role = evictionv1alpha1.EvictionParticipantRoleRequesterResponder
		}
		all[r.Name] = string(role)
	}
	return all
}

const requestKind = "EvictionRequest"

// owners are the requests, besides owners that are something else: when all requests are
// gone, the garbage collector takes the Eviction.
func owners(f Facts, e *evictionv1alpha1.Eviction) []metav1.OwnerReference {
	var all []metav1.OwnerReference
	for _, o := range e.OwnerReferences {
		if !isRequest(o) {
			all = append(all, o)
		}
	}
	var ours []metav1.OwnerReference
	for _, r := range f.Requests {
		ours = append(ours, metav1.OwnerReference{APIVersion: evictionv1alpha1.SchemeGroupVersion.String(), Kind: requestKind, Name: r.Name, UID: r.UID})
	}
	slices.SortFunc(ours, func(a, b metav1.OwnerReference) int { return strings.Compare(a.Name, b.Name) })
	return append(all, ours...)
}
