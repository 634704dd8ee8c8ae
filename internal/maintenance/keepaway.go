// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// Pods of DaemonSets that a drain plan names are not to come back to the node until it returns.
// Their DaemonSets create them again at once, and an admission policy holds those at a scheduling
// gate for which the Node says so (config/admission/daemonsets). So the Node says so before the
// targets of its drain get there, and no more when the drain has ended: before the node returns,
// as its network may be among them. Then the gates go. All of it is read from Nodes and pods,
// whatever has become of maintenances and events.

// KeptPod is a pod that was created for a Node that keeps it away, and is on none.
type KeptPod struct {
	Namespace, Name string
	UID             types.UID
	// Node that the pod is for; empty, if it does not say.
	Node string
	// Gated: our scheduling gate is there.
	Gated bool
}

// keptAway is what the Node says that it keeps away.
func (n *node) keptAway() string {
	if !n.exists() || n.Labels[slipwayv1alpha1.KeptAway] != slipwayv1alpha1.KeptAwayDaemonSets {
		return ""
	}
	return n.Annotations[slipwayv1alpha1.KeptAway]
}

// says tells whether anything on the Node is ours to take away.
func (n *node) says() bool {
	_, label := n.Labels[slipwayv1alpha1.KeptAway]
	_, which := n.Annotations[slipwayv1alpha1.KeptAway]
	return label || which
}

// keepsAway is what a node is to keep away: what its drain is to cover; and what it still covers
// where it is to cover no more, until that has come to it or it has ended.
func (p *pass) keepsAway(n *node) string {
	if !n.exists() || n.drain == nil || n.back != nil || ended(n.drain) {
		return ""
	}
	if which := drainplan.KeptAway(p.wants(n)); which != "" && !released(n.fors) {
		return which
	}
	if which := drainplan.KeptAway(targetsOf(n.drain)); which != "" || !p.mayKeepAway(n) {
		return which
	}
	return n.keptAway() // a driver that begins anew has yet to say what was reached before
}

// mayKeepAway says whether the drain is to come to pods of DaemonSets, now or later.
func (p *pass) mayKeepAway(n *node) bool {
	return !released(n.fors) && slices.ContainsFunc(n.fors, func(entry For) bool {
		m := p.byUID[entry.UID]
		return m != nil && slices.ContainsFunc(m.plan, func(t slipwayv1alpha1.DrainTarget) bool {
			return t.PodType == slipwayv1alpha1.PodTypeDaemonSet
		})
	})
}

// withheld are targets without those of DaemonSets that the drain does not have yet, as long as
// the Node does not say that it keeps their pods away.
func (n *node) withheld(wanted []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if which := drainplan.KeptAway(wanted); which == "" || which == n.keptAway() {
		return wanted
	}
	var targets []slipwayv1alpha1.DrainTarget
	for _, t := range wanted {
		if t.PodType != slipwayv1alpha1.PodTypeDaemonSet {
			targets = append(targets, t)
		}
	}
	if n.drain != nil {
		for _, t := range targetsOf(n.drain) {
			if t.PodType == slipwayv1alpha1.PodTypeDaemonSet {
				targets = append(targets, t)
			}
		}
	}
	if len(targets) == 0 {
		return drainplan.Nothing()
	}
	return targets
}

// keepAway has the Node say what it keeps away.
func (p *pass) keepAway(n *node) {
	if !n.exists() {
		return
	}
	which := p.keepsAway(n)
	switch {
	case which == "" && n.says():
		p.do(LetBack{Node: n.name})
	case which != "" && which != n.keptAway():
		p.do(KeepAway{Node: n.name, Which: which})
	}
	p.decision.WatchKeptAway = p.decision.WatchKeptAway || which != "" || n.says()
}

// lift takes the gate off the pods whose node keeps nothing away any more, or is gone.
func (p *pass) lift() {
	for _, pod := range p.facts.KeptAway {
		n := p.byName[pod.Node]
		held := n != nil && (n.keptAway() != "" || p.keepsAway(n) != "")
		if pod.Gated && !held {
			p.do(Lift{Pod: pod})
		}
		p.decision.WatchKeptAway = true
	}
}

// keptFrom are the pods that have yet to come back to a node, as namespace/name.
func (p *pass) keptFrom(n *node) []string {
	var names []string
	for _, pod := range p.facts.KeptAway {
		if pod.Node == n.name {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	return names
}
