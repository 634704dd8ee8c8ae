// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// injected are the priorities of the last steps of each podType (KEP-4212): the highest that users can
// give, system-cluster-critical, system-node-critical, and the highest possible one.
var injected = []int32{1000000000, 2000000000, 2000001000, math.MaxInt32}

// Complete returns the steps of a drain plan: its entries, and steps up to the highest priorities for
// type Default and for each type of an entry. They are ordered by podType (Default, DaemonSet, Static),
// then by podPriority, first the steps with a podSelector, without repetition. An entry without a
// priority is for the highest priority.
//
// Complete changes only the order and the form of the entries: the API server validates them.
func Complete(entries []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	steps := entriesOf(entries)
	types := map[slipwayv1alpha1.PodType]bool{slipwayv1alpha1.PodTypeDefault: true}
	for _, e := range steps {
		types[e.podType] = true
	}
	for t := range types {
		for _, priority := range injected {
			steps = append(steps, entry{podType: t, priority: priority})
		}
	}
	return targetsOf(inOrder(steps))
}

// inOrder sorts steps, and removes repetitions.
func inOrder(steps []entry) []entry {
	slices.SortStableFunc(steps, func(a, b entry) int { return a.level().compare(b.level()) })
	return slices.CompactFunc(steps, func(a, b entry) bool { return a.podType == b.podType && a.level() == b.level() })
}

// Alone returns the steps of a plan for a node that waits for no other node. A drain evicts pods of
// lower priority first, so the last of consecutive steps without a selector covers the steps before it.
func Alone(plan []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	var steps []slipwayv1alpha1.DrainTarget
	for i, step := range plan {
		covered := i+1 < len(plan) && plan[i+1].PodType == step.PodType && step.PodSelector == nil && plan[i+1].PodSelector == nil
		if !covered {
			steps = append(steps, step)
		}
	}
	return steps
}

// nowhere is a label that a pod would need to have, and not to have.
const nowhere = "slipway.dev/nowhere"

// coversNoPod are the requirements of the selector of [NoPods].
var coversNoPod = requirements(NoPods()[0].PodSelector)

// NoPods returns targets that cover no pod, for the drain of a node that is only cordoned: a drain
// without targets would evict all pods except those of DaemonSets.
func NoPods() []slipwayv1alpha1.DrainTarget {
	return []slipwayv1alpha1.DrainTarget{{
		PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(math.MinInt32)),
		PodSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
			{Key: nowhere, Operator: metav1.LabelSelectorOpExists},
			{Key: nowhere, Operator: metav1.LabelSelectorOpDoesNotExist},
		}},
	}}
}

// maxKeptAway limits the text, an annotation of a Node that admission reads for each pod of a DaemonSet.
// The DaemonSets of entries beyond the limit create their pods again, and the drain evicts these again.
const maxKeptAway = 16 << 10

// KeptAway returns the pods of DaemonSets that targets cover, as config/admission/daemonsets reads them:
// an entry each, separated by ";", of the highest priority and the requirements of the selector,
// separated by "&". The entry for pods with any labels is the first. Without such pods, the text is
// empty.
//
//	1000;2147483647 app In (agent,logs)&tier Exists ()
func KeptAway(targets []slipwayv1alpha1.DrainTarget) string {
	merged := slices.DeleteFunc(merge(entriesOf(targets)), func(e entry) bool { return e.podType != slipwayv1alpha1.PodTypeDaemonSet })
	var kept []string
	length := 0
	for _, e := range merged {
		text := strconv.Itoa(int(e.priority))
		if e.selector != nil {
			text += " " + strings.Join(e.requirements, "&")
		}
		repeats := e.selector != nil && merged[0].selector == nil && e.priority <= merged[0].priority
		if !repeats && length+len(text) < maxKeptAway {
			kept = append(kept, text)
			length += len(text) + len(";")
		}
	}
	return strings.Join(kept, ";")
}

// entry is a target in a form that can be compared.
type entry struct {
	podType      slipwayv1alpha1.PodType
	priority     int32
	selector     *metav1.LabelSelector
	requirements []string
	text         string // of the requirements
}

// class identifies an entry in a list of targets.
type class struct {
	podType  slipwayv1alpha1.PodType
	selector string
}

// entriesOf reads targets, except those of [NoPods]. A target without a priority covers pods of any
// priority, and an empty selector counts as no selector.
func entriesOf(targets []slipwayv1alpha1.DrainTarget) []entry {
	var all []entry
	for _, t := range targets {
		required := requirements(t.PodSelector)
		e := entry{t.PodType, math.MaxInt32, t.PodSelector, required, strings.Join(required, ", ")}
		if t.PodPriority != nil {
			e.priority = *t.PodPriority
		}
		if len(required) == 0 {
			e.selector = nil
		}
		if !slices.Equal(required, coversNoPod) {
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

// level returns the place of an entry in the order of all steps.
func (e entry) level() level {
	l := level{rank: rankOf(e.podType), priority: e.priority, selector: e.text}
	if e.selector == nil {
		l.all = 1
	}
	return l
}

func (e entry) class() class { return class{e.podType, e.text} }

// covers reports whether e covers all pods that other covers.
func (e entry) covers(other entry) bool {
	return e.podType == other.podType && e.priority >= other.priority &&
		!slices.ContainsFunc(e.requirements, func(r string) bool { return !slices.Contains(other.requirements, r) })
}

// requirements returns the requirements of a selector as texts, sorted and without repetition, so that
// equivalent selectors have the same ones. A selector without requirements selects all pods.
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

// level orders the steps of all plans: by podType, then by podPriority, first the steps with a selector
// by its text. Plans of maintenances that share nodes can have different selectors.
type level struct {
	rank     int
	priority int32
	all      int // 1: no selector
	selector string
}

var (
	// bottom is the level of targets that cover no pod.
	bottom = level{rank: -1}
	// top is the level of a maintenance that has completed its plan.
	top = level{rank: math.MaxInt}
)

func (l level) compare(m level) int {
	return cmp.Or(cmp.Compare(l.rank, m.rank), cmp.Compare(l.priority, m.priority), cmp.Compare(l.all, m.all), strings.Compare(l.selector, m.selector))
}

// rankOf orders the types of pods (KEP-4212): first pods without a type of their node, static pods and
// unknown types last.
func rankOf(t slipwayv1alpha1.PodType) int {
	order := []slipwayv1alpha1.PodType{slipwayv1alpha1.PodTypeDefault, slipwayv1alpha1.PodTypeDaemonSet, slipwayv1alpha1.PodTypeStatic}
	if rank := slices.Index(order, t); rank >= 0 {
		return rank
	}
	return len(order)
}

// upTo returns the targets after the steps up to a level have begun, one for each class (KEP-4212). It
// includes later steps with a selector, with the priority that all pods of their type have reached.
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
	return merge(begun)
}

// merge returns one entry for each class, which together cover the pods of all entries.
func merge(entries []entry) []entry {
	highest := map[class]entry{}
	for _, e := range entries {
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

// cover reports whether one of entries covers each entry of some.
func cover(entries, some []entry) bool {
	return !slices.ContainsFunc(some, func(s entry) bool {
		return !slices.ContainsFunc(entries, func(e entry) bool { return e.covers(s) })
	})
}

// highest returns the highest level of the entries.
func highest(entries []entry) level {
	l := bottom
	for _, e := range entries {
		if e.level().compare(l) > 0 {
			l = e.level()
		}
	}
	return l
}
