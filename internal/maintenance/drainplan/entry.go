// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"cmp"
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

// requirements are what a selector asks for, one text each, sorted and without repetition:
// two selectors that ask for the same have the same. Nil: it selects all pods.
func requirements(s *metav1.LabelSelector) []string {
	if s == nil {
		return nil
	}
	var all []string
	for key, value := range s.MatchLabels {
		all = append(all, requirement(key, metav1.LabelSelectorOpIn, []string{value}))
	}
	for _, r := range s.MatchExpressions {
		all = append(all, requirement(r.Key, r.Operator, r.Values))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func requirement(key string, operator metav1.LabelSelectorOperator, values []string) string {
	sorted := slices.Sorted(slices.Values(values))
	return key + " " + string(operator) + " (" + strings.Join(slices.Compact(sorted), ",") + ")"
}

// level is how far something goes. Levels order the steps of all plans: by podType, then by
// podPriority, those with a selector before the one without, and by what the selector asks
// for in the order of the alphabet. Plans of maintenances that share nodes can name
// different selectors; this is the order in which those then come.
type level struct {
	rank     int
	priority int32
	all      bool // no selector
	selector string
}

var (
	// bottom is the level of what covers no pod.
	bottom = level{rank: -1}
	// top is the level of who wants nothing more.
	top = level{rank: math.MaxInt}
)

func (l level) compare(m level) int {
	return cmp.Or(cmp.Compare(l.rank, m.rank), cmp.Compare(l.priority, m.priority), compareBool(l.all, m.all), strings.Compare(l.selector, m.selector))
}

func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

// rankOf orders the types of pods (KEP-4212): those of nobody in particular leave first, and
// what runs from a file last. Types that nobody knows come after these.
func rankOf(t slipwayv1alpha1.PodType) int {
	switch t {
	case slipwayv1alpha1.PodTypeDefault:
		return 0
	case slipwayv1alpha1.PodTypeDaemonSet:
		return 1
	case slipwayv1alpha1.PodTypeStatic:
		return 2
	default:
		return 3
	}
}

// upTo are the targets after the steps have begun up to a level, one for each class (KEP-4212):
// what has a selector is shown too, with the priority that all pods of its type are at, if
// that is higher.
func upTo(steps []entry, l level) []entry {
	var begun, selecting []entry
	for _, e := range steps {
		switch {
		case e.level().compare(l) <= 0:
			begun = append(begun, e)
		case e.selector != nil:
			selecting = append(selecting, e)
		}
	}
	for _, e := range selecting {
		if i := slices.IndexFunc(begun, func(b entry) bool { return b.podType == e.podType && b.selector == nil }); i >= 0 {
			e.priority = begun[i].priority
			begun = append(begun, e)
		}
	}
	return merge(begun, nil)
}

// merge gives one entry for each class: what either covers is covered.
func merge(a, b []entry) []entry {
	highest := map[class]entry{}
	for _, e := range slices.Concat(a, b) {
		if h, ok := highest[e.class()]; !ok || h.priority < e.priority {
			highest[e.class()] = e
		}
	}
	merged := make([]entry, 0, len(highest))
	for _, e := range highest {
		if all, ok := highest[class{podType: e.podType}]; ok {
			e.priority = max(e.priority, all.priority)
		}
		merged = append(merged, e)
	}
	slices.SortFunc(merged, func(a, b entry) int {
		return cmp.Or(cmp.Compare(rankOf(a.podType), rankOf(b.podType)), strings.Compare(string(a.podType), string(b.podType)),
			strings.Compare(a.text, b.text))
	})
	return merged
}

// cover says whether each entry of some is covered by one of entries.
func cover(entries, some []entry) bool {
	return !slices.ContainsFunc(some, func(s entry) bool {
		return !slices.ContainsFunc(entries, func(e entry) bool { return e.covers(s) })
	})
}

// highest is the level of the entry that goes furthest.
func highest(entries []entry) level {
	l := bottom
	for _, e := range entries {
		if e.level().compare(l) > 0 {
			l = e.level()
		}
	}
	return l
}
