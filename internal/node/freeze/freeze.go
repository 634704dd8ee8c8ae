// SPDX-License-Identifier: Apache-2.0

// Package freeze decides whether a Freeze stops disruptions of a node.
//
//	Freezes, the labels of a Node ── Objection ──▶ text, empty without a Freeze
//
// It is pure. lifecycle/oversight holds events back by it, and maintenance starts no Job by it. drainer/rules reads Freezes
// by itself, for drains in progress.
package freeze

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Freeze is a Freeze.
type Freeze = slipwayv1alpha1.Freeze

// Objection returns the cause for which no disruption of a node with these labels may begin. Empty: none. A Freeze with an
// invalid selector selects all nodes.
func Objection(freezes []*Freeze, node map[string]string) string {
	for _, f := range slices.SortedFunc(slices.Values(freezes), func(a, b *Freeze) int { return cmp.Compare(a.Name, b.Name) }) {
		selector, err := metav1.LabelSelectorAsSelector(&f.Spec.Selector)
		if err != nil {
			return fmt.Sprintf("Freeze %q: spec.selector: %v", f.Name, err)
		}
		if selector.Matches(labels.Set(node)) {
			return fmt.Sprintf("Freeze %q: %s", f.Name, Why(f))
		}
	}
	return ""
}

// Why returns the reason of a Freeze, with its end.
func Why(f *Freeze) string {
	if f.Spec.Until == nil {
		return f.Spec.Reason
	}
	return fmt.Sprintf("%s (until %s)", f.Spec.Reason, f.Spec.Until.UTC().Format(time.RFC3339))
}
