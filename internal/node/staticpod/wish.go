// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"encoding/json"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Annotation says on a Node which of its static pods are to be away, and for which events. It
// is written for drains, and goes with their cordons.
const Annotation = "slipway.dev/static-pods"

// Wish is what one event wants. The annotation is a list of them.
type Wish struct {
	Event string    `json:"event"`
	UID   types.UID `json:"uid"`
	// Pods are namespace/name of the mirror pods, sorted.
	Pods []string `json:"pods"`
}

// WishesOn reads what a Node wishes; nothing, if it does not say. An error is of what cannot
// be read.
func WishesOn(node *corev1.Node) ([]Wish, error) {
	text := node.Annotations[Annotation]
	if text == "" {
		return nil, nil
	}
	var wishes []Wish
	if err := json.Unmarshal([]byte(text), &wishes); err != nil {
		return nil, fmt.Errorf("read annotation %s of node %s: %w", Annotation, node.Name, err)
	}
	return wishes, nil
}

// Text is the value of the annotation. Empty: there is nothing to say.
func Text(wishes []Wish) (string, error) {
	if len(wishes) == 0 {
		return "", nil
	}
	text, err := json.Marshal(wishes)
	if err != nil {
		return "", fmt.Errorf("encode annotation %s: %w", Annotation, err)
	}
	return string(text), nil
}

// With adds what an event wants to what it has wanted before: pods that are away already are
// not seen any more by who asks.
func With(wishes []Wish, more Wish) []Wish {
	wishes = slices.Clone(wishes)
	i := slices.IndexFunc(wishes, func(w Wish) bool { return w.UID == more.UID })
	if i < 0 {
		more.Pods = union(more.Pods)
		return append(wishes, more)
	}
	wishes[i].Pods = union(wishes[i].Pods, more.Pods)
	return wishes
}

// Without drops what an event wants.
func Without(wishes []Wish, uid types.UID) []Wish {
	return slices.DeleteFunc(slices.Clone(wishes), func(w Wish) bool { return w.UID == uid })
}

// Wanted are the pods that any of the wishes names, sorted.
func Wanted(wishes []Wish) []string {
	var all []string
	for _, w := range wishes {
		all = append(all, w.Pods...)
	}
	return union(all)
}

func union(lists ...[]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(lists...))))
}
