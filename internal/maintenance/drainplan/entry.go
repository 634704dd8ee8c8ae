// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"math"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// entry is a target, so that it can be compared.
type entry struct {
	podType      slipwayv1alpha1.PodType
	priority     int32
	selector     *metav1.LabelSelector
	requirements []string
	// text of the requirements.
	text string
}

// class is what there is one entry for in a list of targets: a podType, and a selector.
type class struct {
	podType  slipwayv1alpha1.PodType
	selector string
}

// entryOf reads a target. Without a priority it covers pods of any; a selector that asks for
// nothing is none.
func entryOf(t slipwayv1alpha1.DrainTarget) entry {
	asked := requirements(t.PodSelector)
	e := entry{t.PodType, math.MaxInt32, t.PodSelector, asked, strings.Join(asked, ", ")}
	if t.PodPriority != nil {
		e.priority = *t.PodPriority
	}
	if len(e.requirements) == 0 {
		e.selector = nil
	}
	return e
}

// entriesOf reads targets, but for those of [Nothing].
func entriesOf(targets []slipwayv1alpha1.DrainTarget) []entry {
	var all []entry
	for _, t := range targets {
		if e := entryOf(t); !slices.Equal(e.requirements, nobody) {
			all = append(all, e)
		}
	}
	return all
}

func targetsOf(entries []entry) []slipwayv1alpha1.DrainTarget {
	all := make([]slipwayv1alpha1.DrainTarget, 0, len(entries))
	for _, e := range entries {
		all = append(all, slipwayv1alpha1.DrainTarget{PodType: e.podType, PodPriority: new(e.priority), PodSelector: e.selector.DeepCopy()})
	}
	return all
}

func (e entry) level() level {
	return level{rankOf(e.podType), e.priority, e.selector == nil, e.text}
}

func (e entry) class() class {
	return class{e.podType, e.text}
}

// covers says whether all pods that other covers are covered by e.
func (e entry) covers(other entry) bool {
	return e.podType == other.podType && e.priority >= other.priority &&
		!slices.ContainsFunc(e.requirements, func(r string) bool { return !slices.Contains(other.requirements, r) })
}
