// SPDX-License-Identifier: Apache-2.0

package drain

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// guarding are the budgets of a namespace that guard a pod of a Drain. A namespace may have many more, and others change
// theirs all the time: this Drain looks at its own only, and finds out which they are when pods or selectors have changed.
type guarding struct {
	*budgetWatch
	// pods and selectors are the versions for which own was found out; found tells that it was.
	pods, selectors int
	found           bool
	own             map[types.UID]bool
}

// among returns the budgets that guard one of the pods, of which this is the version, and whether they are all known. From
// now on wake is poked when one of them changes.
func (g *guarding) among(pods []*corev1.Pod, version int, wake signal) ([]*budget, bool) {
	if selectors := g.selected(); !g.found || g.pods != version || g.selectors != selectors {
		all, known := g.list()
		g.found, g.pods, g.selectors, g.own = known, version, selectors, nil
		if known {
			g.own = guardsOfAny(pods, all)
		}
		g.concerns(wake, g.own)
	}
	// After concerns: what changes from now on wakes us, and what has changed before is seen here.
	return g.these(g.own)
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
