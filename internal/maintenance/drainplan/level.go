// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"cmp"
	"math"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

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
