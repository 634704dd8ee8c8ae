// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// Pods of DaemonSets that a drain plan names must not come back to the node until it returns.
// Their DaemonSets create them again at once. If the Node says that it keeps them away, an
// admission policy adds a scheduling gate (config/admission/daemonsets). So the Node says so
// before the targets of its drain reach these pods. It stops when the drain has ended, before the
// node returns, as its network may be among them; then the gates are removed. All of this is read
// from Nodes and pods, whatever has become of maintenances and events.

// KeptPod is a pod that was created for a Node that keeps it away, and has no node yet.
type KeptPod struct {
	Namespace, Name string
	UID             types.UID
	// Node that the pod is for; empty, if it does not say.
	Node string
	// Gated: it has our scheduling gate.
	Gated bool
}

// keptAway returns what the Node says that it keeps away.
func (n *node) keptAway() string {
	if !n.exists() || n.Labels[slipwayv1alpha1.KeptAway] != slipwayv1alpha1.KeptAwayDaemonSets {
		return ""
	}
	return n.Annotations[slipwayv1alpha1.KeptAway]
}

// hasMarks reports whether the Node has anything that KeepAway has written.
func (n *node) hasMarks() bool {
	_, label := n.Labels[slipwayv1alpha1.KeptAway]
	_, which := n.Annotations[slipwayv1alpha1.KeptAway]
	return label || which
}

// toKeepAway returns what a node is to keep away: the pods that its drain is to cover, and those
// that it still covers until it has reached its new targets or has ended.
func (p *plan) toKeepAway(n *node) string {
	if !n.exists() || n.drain == nil || n.back != nil || ended(n.drain) {
		return ""
	}
	if which := drainplan.KeptAway(p.wantedTargets(n)); which != "" && !released(n.refs) {
		return which
	}
	if which := drainplan.KeptAway(targetsOf(n.drain)); which != "" || !p.mayKeepAway(n) {
		return which
	}
	return n.keptAway() // a driver that begins anew has yet to say what was reached before
}

// mayKeepAway reports whether the drain is to reach pods of DaemonSets, now or later.
func (p *plan) mayKeepAway(n *node) bool {
	return !released(n.refs) && slices.ContainsFunc(n.refs, func(ref Ref) bool {
		m := p.byUID[ref.UID]
		return m != nil && slices.ContainsFunc(m.plan, ofDaemonSets)
	})
}

func ofDaemonSets(t slipwayv1alpha1.DrainTarget) bool {
	return t.PodType == slipwayv1alpha1.PodTypeDaemonSet
}

// withheld leaves out targets of DaemonSets that the drain does not have yet, until the Node says
// that it keeps their pods away.
func (n *node) withheld(wanted []slipwayv1alpha1.DrainTarget) []slipwayv1alpha1.DrainTarget {
	if which := drainplan.KeptAway(wanted); which == "" || which == n.keptAway() {
		return wanted
	}
	targets := slices.DeleteFunc(slices.Clone(wanted), ofDaemonSets)
	if n.drain != nil {
		for _, t := range targetsOf(n.drain) {
			if ofDaemonSets(t) {
				targets = append(targets, t)
			}
		}
	}
	if len(targets) == 0 {
		return drainplan.NoPods()
	}
	return targets
}

// keepAway returns the step after which the Node says what it keeps away, and whether pods that
// are kept away have to be watched.
func (p *plan) keepAway(n *node) (steps []Step, watch bool) {
	which := p.toKeepAway(n)
	switch {
	case which == "" && n.hasMarks():
		steps = append(steps, LetBack{Node: n.name})
	case which != "" && which != n.keptAway():
		steps = append(steps, KeepAway{Node: n.name, Which: which})
	}
	return steps, which != "" || n.hasMarks()
}

// lift returns the steps that remove the gates of pods whose node keeps nothing away any more, or
// was deleted.
func (p *plan) lift() (steps []Step) {
	for _, pod := range p.facts.KeptAway {
		n := p.byName[pod.Node]
		if pod.Gated && (n == nil || n.keptAway() == "" && p.toKeepAway(n) == "") {
			steps = append(steps, Lift{Pod: pod})
		}
	}
	return steps
}

// keptFrom returns the pods that have yet to come back to a node, as namespace/name.
func (v *view) keptFrom(n *node) []string {
	var names []string
	for _, pod := range v.facts.KeptAway {
		if pod.Node == n.name {
			names = append(names, pod.Namespace+"/"+pod.Name)
		}
	}
	slices.Sort(names)
	return names
}
