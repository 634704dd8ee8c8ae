// SPDX-License-Identifier: Apache-2.0

package request

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
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

// Evictor is the responder that comes last for every pod: it evicts.
const Evictor = evictionv1alpha1.EvictionResponderImperativeEviction

const (
	evictorPriority int32 = 100
	lowestPriority  int32 = 1000 // those below are reserved for Kubernetes
	highestPriority int32 = 100_000
	maxOfPod              = 10
)

// AnnotationResponders replaces a pod's spec.evictionResponders where the server does not have that field, and
// where it is empty: NAME:PRIORITY, separated by commas, such as
// "example.com/backup:20000,example.com/migrate:15000". The rules of the field apply.
const AnnotationResponders = "slipway.dev/eviction-responders"

// RespondersOf returns the responders of a pod, without the one that comes last for every pod. An invalid
// annotation names no responder, and the error describes a valid one.
func RespondersOf(pod *corev1.Pod) ([]corev1.EvictionResponder, error) {
	text, annotated := pod.Annotations[AnnotationResponders]
	if len(pod.Spec.EvictionResponders) > 0 || !annotated {
		return pod.Spec.EvictionResponders, nil
	}
	all, err := parse(text)
	if err != nil {
		return nil, fmt.Errorf("annotation %s: %w", AnnotationResponders, err)
	}
	return all, nil
}

func parse(text string) ([]corev1.EvictionResponder, error) {
	var all []corev1.EvictionResponder
	for entry := range strings.SplitSeq(text, ",") {
		r, err := parseOne(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		if has(all, r.Name) {
			return nil, fmt.Errorf("%q: %s occurs twice", entry, r.Name)
		}
		all = append(all, r)
	}
	if len(all) > maxOfPod {
		return nil, fmt.Errorf("there are %d responders; there may be %d", len(all), maxOfPod)
	}
	return all, nil
}

func parseOne(entry string) (corev1.EvictionResponder, error) {
	name, text, found := strings.Cut(entry, ":")
	if !found {
		return corev1.EvictionResponder{}, errors.New("must be NAME:PRIORITY, such as example.com/backup:20000")
	}
	if err := checkName(name); err != nil {
		return corev1.EvictionResponder{}, err
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || int32(n) < lowestPriority || int32(n) > highestPriority {
		return corev1.EvictionResponder{}, fmt.Errorf("the priority must be a number from %d to %d", lowestPriority, highestPriority)
	}
	return corev1.EvictionResponder{Name: name, Priority: new(int32(n))}, nil
}

func checkName(name string) error {
	domain, _, found := strings.Cut(name, "/")
	if !found {
		return errors.New("the name must have a domain, such as example.com/backup")
	}
	if problems := validation.IsQualifiedName(name); len(problems) > 0 {
		return fmt.Errorf("the name is wrong: %s", strings.Join(problems, "; "))
	}
	for _, reserved := range []string{"k8s.io", "kubernetes.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return fmt.Errorf("the domain %s is Kubernetes' own", reserved)
		}
	}
	return nil
}

func has(all []corev1.EvictionResponder, name string) bool {
	return slices.ContainsFunc(all, func(r corev1.EvictionResponder) bool { return r.Name == name })
}

// responders returns all responders for the target in their order: the responders that the pod names, the extra ones
// up to the maximum, and the last one. A pod with an invalid annotation can be evicted,
// too, by the last one.
func (v view) responders() []evictionv1alpha1.TargetResponder {
	named, _ := RespondersOf(v.pod)
	named = slices.Clone(named)
	for _, r := range v.Extra {
		if len(named) < maxOfPod && !has(named, r.Name) {
			named = append(named, r)
		}
	}
	all := []evictionv1alpha1.TargetResponder{{Name: Evictor, Priority: new(evictorPriority)}}
	for _, r := range named {
		all = append(all, evictionv1alpha1.TargetResponder{Name: r.Name, Priority: r.Priority})
	}
	slices.SortFunc(all, inTurn)
	for i := range all {
		all[i].State = evictionv1alpha1.ResponderStateInactive
	}
	return all
}

// InTurn returns the responders of an Eviction in their order.
func InTurn(all []evictionv1alpha1.TargetResponder) []evictionv1alpha1.TargetResponder {
	return slices.SortedFunc(slices.Values(all), inTurn)
}

// inTurnOf returns the indexes of the responders in their order.
func inTurnOf(all []evictionv1alpha1.TargetResponder) []int {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return inTurn(all[a], all[b]) })
	return order
}

// inTurn orders responders: the higher priority first; of equal ones, the first by domain, its top label compared
// first, then by key.
func inTurn(a, b evictionv1alpha1.TargetResponder) int {
	domainA, keyA := domainAndKey(a.Name)
	domainB, keyB := domainAndKey(b.Name)
	return cmp.Or(-cmp.Compare(priority(a), priority(b)), slices.Compare(domainA, domainB), strings.Compare(keyA, keyB))
}

func priority(r evictionv1alpha1.TargetResponder) int32 {
	if r.Priority == nil {
		return -1
	}
	return *r.Priority
}

// domainAndKey splits a name at the slash, and the domain into its labels from the top down.
func domainAndKey(name string) (domain []string, key string) {
	prefix, key, _ := strings.Cut(name, "/")
	domain = strings.Split(prefix, ".")
	slices.Reverse(domain)
	return domain, key
}
