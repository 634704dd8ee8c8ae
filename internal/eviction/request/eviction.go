// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

const (
	requestKind = "EvictionRequest"
	// maxRequesters limits the requesters that an Eviction lists.
	maxRequesters = 100
)

// newEviction returns an Eviction of the target. It has the first free name, so that creating it twice fails the
// second time.
func (v view) newEviction() *evictionv1alpha1.Eviction {
	e := &evictionv1alpha1.Eviction{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Target.Namespace, Name: v.name()},
		Spec: evictionv1alpha1.EvictionSpec{Target: evictionv1alpha1.EvictionTarget{
			Pod: &evictionv1alpha1.EvictionPodReference{Name: v.Target.Name, UID: v.Target.UID},
		}},
	}
	e.Labels, e.OwnerReferences = v.labels(e), v.owners(e)
	return e
}

// name returns pod-N-NAME, with the N after the highest that is taken.
func (v view) name() string {
	n := 0
	for _, taken := range v.Taken {
		n = max(n, number(taken))
	}
	for _, e := range v.Evictions {
		n = max(n, number(e.Name))
	}
	text := fmt.Sprintf("pod-%d-%s", n+1, v.Target.Name)
	if len(text) <= validation.DNS1123SubdomainMaxLength {
		return text
	}
	return strings.TrimRight(text[:validation.DNS1123SubdomainMaxLength], ".-")
}

// number returns the N of pod-N-NAME; 0 for another name.
func number(name string) int {
	rest, ok := strings.CutPrefix(name, "pod-")
	digits, _, _ := strings.Cut(rest, "-")
	if n, err := strconv.Atoi(digits); ok && err == nil {
		return n
	}
	return 0
}

// labels returns the labels of an Eviction: each requester and each responder with its role, and third-party
// labels.
func (v view) labels(e *evictionv1alpha1.Eviction) map[string]string {
	all := map[string]string{}
	maps.Copy(all, e.Labels)
	// Only listed requesters are named.
	maps.DeleteFunc(all, func(_, role string) bool {
		return role == string(evictionv1alpha1.EvictionParticipantRoleRequester) || role == string(evictionv1alpha1.EvictionParticipantRoleRequesterResponder)
	})
	requests := map[string]bool{}
	for _, r := range v.requesters(e) {
		requests[r.Name] = true
		all[r.Name] = string(evictionv1alpha1.EvictionParticipantRoleRequester)
	}
	responders := e.Status.TargetResponders
	if len(responders) == 0 && v.pod != nil {
		responders = v.responders()
	}
	for _, r := range responders {
		role := evictionv1alpha1.EvictionParticipantRoleResponder
		if requests[r.Name] {
			role = evictionv1alpha1.EvictionParticipantRoleRequesterResponder
		}
		all[r.Name] = string(role)
	}
	return all
}

// owners returns the owners of an Eviction: the requests, and owners of other kinds. After the deletion of all
// requests, the garbage collector deletes the Eviction.
func (v view) owners(e *evictionv1alpha1.Eviction) []metav1.OwnerReference {
	var all, requests []metav1.OwnerReference
	for _, o := range e.OwnerReferences {
		if !isRequest(o) {
			all = append(all, o)
		}
	}
	for _, r := range v.Requests {
		requests = append(requests, metav1.OwnerReference{APIVersion: evictionv1alpha1.SchemeGroupVersion.String(), Kind: requestKind, Name: r.Name, UID: r.UID})
	}
	slices.SortFunc(requests, func(a, b metav1.OwnerReference) int { return strings.Compare(a.Name, b.Name) })
	return append(all, requests...)
}

func isRequest(o metav1.OwnerReference) bool {
	return o.Kind == requestKind && strings.HasPrefix(o.APIVersion, evictionv1alpha1.SchemeGroupVersion.Group+"/")
}

// requesters returns the current and former requesters of an Eviction. A former requester without a request counts as
// withdrawn. A requester with several requests wants the eviction if one of them does.
func (v view) requesters(e *evictionv1alpha1.Eviction) []evictionv1alpha1.Requester {
	intents := map[string]evictionv1alpha1.RequesterIntent{}
	for _, r := range e.Status.Requesters {
		intents[r.Name] = evictionv1alpha1.RequesterIntentWithdrawn
	}
	for _, r := range v.Requests {
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
