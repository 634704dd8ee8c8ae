// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

// AnnotationResponders takes the place of a pod's spec.evictionResponders where the
// server does not have that field, and where it is empty: NAME:PRIORITY, separated by
// commas, such as "example.com/backup:20000,example.com/migrate:15000". It is held to
// what the field is held to.
const AnnotationResponders = "slipway.dev/eviction-responders"

// RespondersOf are the responders of a pod, besides the one that comes last for every
// pod. An annotation that is wrong has none, and an error that says what is right.
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

// ofPod leaves out an annotation that is wrong: the pod can be evicted all the same, by
// the responder that comes last.
func ofPod(pod *corev1.Pod) []corev1.EvictionResponder {
	all, _ := RespondersOf(pod)
	return all
}

// respondersOf are those of the pod, and the extra ones that it does not name itself, as
// far as there is room for them.
func (f Facts) respondersOf(pod *corev1.Pod) []corev1.EvictionResponder {
	all := slices.Clone(ofPod(pod))
	for _, r := range f.Extra {
		if len(all) < maxOfPod && !slices.ContainsFunc(all, func(o corev1.EvictionResponder) bool { return o.Name == r.Name }) {
			all = append(all, r)
		}
	}
	return all
}

func parse(text string) ([]corev1.EvictionResponder, error) {
	var all []corev1.EvictionResponder
	for entry := range strings.SplitSeq(text, ",") {
		r, err := parseOne(strings.TrimSpace(entry))
		if err != nil {
			return nil, fmt.Errorf("%q: %w", entry, err)
		}
		if slices.ContainsFunc(all, func(o corev1.EvictionResponder) bool { return o.Name == r.Name }) {
			return nil, fmt.Errorf("%q: %s is there twice", entry, r.Name)
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
