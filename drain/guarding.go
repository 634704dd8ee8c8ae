// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// guarding are the budgets of a namespace that guard a pod of a Drain. A namespace may have many more, and others change
// theirs all the time: this Drain looks at its own only, and finds out which they are when pods or selectors have changed.
type guarding struct {
	*budgetWatch
	// pods and selectors are the versions for which own was found out. At first there is nothing.
	pods, selectors int
	own             map[types.UID]bool
}

// among returns the budgets that guard one of the pods, of which this is the version, and whether they are all known. From
// now on wake is poked when one of them changes.
func (g *guarding) among(pods []*corev1.Pod, version int, wake signal) (own []*budget, known bool) {
	if own, known, ok := g.Pick(g.own, g.selectors); ok && g.pods == version {
		return own, known
	}
	g.concerns(wake, nil) // while it is found out, each change wakes us
	own, g.selectors, known = g.ListRevision()
	g.pods, g.own = version, guardsOfAny(pods, own)
	g.concerns(wake, g.own)
	return slices.DeleteFunc(own, func(b *budget) bool { return !g.own[b.UID] }), known
}

func guardsOfAny(pods []*corev1.Pod, all []*budget) map[types.UID]bool {
	of := map[types.UID]bool{}
	for _, pod := range pods {
		for _, b := range guards(pod, all) {
			of[b.UID] = true
		}
	}
	return of
}
