// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"slices"
	"strconv"
	"strings"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// maxKeptAway is how long the text is at most: an annotation of a Node, which admission reads
// for each pod of a DaemonSet. Entries for which there is no room are left out: their pods come
// back, and the drain evicts them again.
const maxKeptAway = 16 << 10

// KeptAway says which pods of DaemonSets targets speak of, as config/admission/daemonsets reads
// it: an entry each, separated by ";", of the highest priority and what the selector asks for,
// separated by "&". Those for pods of any labels come first. Empty: of none.
//
//	1000;2147483647 app In (agent,logs)&tier Exists ()
func KeptAway(targets []slipwayv1alpha1.DrainTarget) string {
	merged := slices.DeleteFunc(merge(entriesOf(targets), nil), func(e entry) bool { return e.podType != slipwayv1alpha1.PodTypeDaemonSet })
	slices.SortStableFunc(merged, func(a, b entry) int { return compareBool(a.selector != nil, b.selector != nil) })
	var kept []string
	length := 0
	for _, e := range merged {
		if e.selector != nil && merged[0].selector == nil && e.priority <= merged[0].priority {
			continue // they are said already
		}
		if text := e.keptAway(); length+len(text) < maxKeptAway {
			kept = append(kept, text)
			length += len(text) + len(";")
		}
	}
	return strings.Join(kept, ";")
}

func (e entry) keptAway() string {
	text := strconv.Itoa(int(e.priority))
	if e.selector == nil {
		return text
	}
	return text + " " + strings.Join(e.requirements, "&")
}
