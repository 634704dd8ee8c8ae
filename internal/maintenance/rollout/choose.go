// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

const (
	defaultFailureThreshold = 1
	defaultMaxPendingPods   = 10
	// listed is the maximum number of names in a message.
	listed = 10
)

// hold is the reason for which no node begins. Without a code, there is none.
type hold struct{ reason, message string }

func unavailable(format string, args ...any) hold {
	return hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf(format, args...)}
}

// brake returns the reason for which no node may begin, even if all nodes are available.
func (s *state) brake() hold {
	if threshold := s.failureThreshold(); len(s.failed) >= threshold {
		return hold{slipwayv1alpha1.ReasonFailureThreshold, fmt.Sprintf("failureThreshold %d is reached: %s failed", threshold, list(s.failed))}
	}
	// The message leaves out the number of pods, which would change it all the time. The oldest pods stay
	// the same.
	if most := int(ptr.Deref(s.Rollout.MaxPendingPods, defaultMaxPendingPods)); most > 0 && s.PendingPods >= most {
		message := fmt.Sprintf("maxPendingPods %d is reached by pods that were created since the maintenance began, and are Pending or not Ready", most)
		if len(s.PendingNames) > 0 {
			message += ": " + reasons.Names(s.PendingNames, listed)
		}
		return hold{slipwayv1alpha1.ReasonPendingPods, message}
	}
	return hold{}
}

func (s *state) failureThreshold() int {
	return int(ptr.Deref(s.Rollout.FailureThreshold, defaultFailureThreshold))
}

// pause holds the nodes that would return after the pause. A node in progress counts as returned, so that
// a pause after one node is a pause with one returned node.
func (s *state) pause() hold {
	working := len(s.inProgress())
	if s.Rollout.PauseAfter == nil || s.returned+working < int(*s.Rollout.PauseAfter) {
		return hold{}
	}
	return hold{slipwayv1alpha1.ReasonPauseAfter, fmt.Sprintf("pauseAfter %d is reached (returned: %d, in progress: %d)", *s.Rollout.PauseAfter, s.returned, working)}
}

// choose returns the node that begins next, or the reason for which the waiting nodes do not begin.
func (s *state) choose() (*Node, hold) {
	if s.Rollout.Batches && len(s.before) > 0 {
		return nil, unavailable("the next batch begins when these nodes have returned: %s", list(s.before))
	}
	if held := s.pause(); held.reason != "" {
		return nil, held
	}
	group := s.group()
	if len(group) == 0 {
		return nil, unavailable("the control plane begins when the workers have returned: %s", list(s.workersInProgress()))
	}
	if s.Rollout.TopologyKey != "" && s.Rollout.PerDomain == nil {
		current := s.currentDomain(group)
		group = among(group, func(n *Node) bool { return n.Domain == current })
		if len(group) == 0 {
			return nil, unavailable("the next domain begins when %s have returned: %s", s.nodesOf(current), s.listIn(current))
		}
	}
	if free := among(group, func(n *Node) bool { return s.limit(n).reason == "" }); len(free) > 0 {
		return s.best(free), hold{}
	}
	return nil, s.limit(group[0])
}

// group returns the waiting workers, or the waiting nodes of the control plane once all workers have
// returned.
func (s *state) group() []*Node {
	workers := among(s.waiting, func(n *Node) bool { return !n.ControlPlane })
	if len(workers) > 0 || len(s.workersInProgress()) > 0 {
		return workers
	}
	return s.waiting
}

// currentDomain returns the domain that has begun, or the first one with waiting or unavailable nodes.
func (s *state) currentDomain(group []*Node) string {
	unfinished := slices.Concat(s.before, s.begun)
	if len(unfinished) == 0 {
		unfinished = slices.Concat(group, s.unavailable)
	}
	first := unfinished[0].Domain
	for _, n := range unfinished {
		first = min(first, n.Domain)
	}
	return first
}

// limit returns the limit that a node would exceed if it began now; none, if it may begin. A new limit on
// unavailable nodes is a case here, with its message; a limit that holds all nodes belongs to brake. It
// needs a field of MaintenanceRollout, a reason code if ReasonMaxUnavailable does not fit, and a script in
// testdata.
func (s *state) limit(n *Node) hold {
	var others []string
	if n.ControlPlane {
		others = slices.DeleteFunc(slices.Sorted(slices.Values(s.ControlPlaneOut)), func(name string) bool { return name == n.Name })
	}
	count, inDomain := len(s.unavailable), s.inDomain[n.Domain]
	if n.Down { // it is unavailable already; but the limits hold once the nodes that have begun are up again
		begun := slices.Concat(s.before, s.begun)
		count, inDomain = len(begun), len(among(begun, func(b *Node) bool { return b.Domain == n.Domain }))
	}
	switch {
	case len(others) > 0:
		return unavailable("at most 1 node of the control plane may be unavailable; unavailable now: %s", reasons.Names(others, listed))
	case count >= s.maxUnavailable():
		value := "1 by default"
		if s.Rollout.MaxUnavailable != nil {
			value = s.Rollout.MaxUnavailable.String()
		}
		return unavailable("at most %d of the %d selected nodes may be unavailable (maxUnavailable %s); unavailable now: %s",
			s.maxUnavailable(), len(s.nodes), value, list(s.unavailable))
	case s.Rollout.PerDomain != nil && inDomain >= int(*s.Rollout.PerDomain):
		return unavailable("at most %d of %s may be unavailable (perDomain); unavailable now: %s",
			*s.Rollout.PerDomain, s.nodesOf(n.Domain), s.listIn(n.Domain))
	default:
		return hold{}
	}
}

// maxUnavailable returns the maximum number of unavailable nodes. With perDomain, it has no default.
func (s *state) maxUnavailable() int {
	most := s.Rollout.MaxUnavailable
	switch {
	case most == nil && s.Rollout.PerDomain != nil:
		return math.MaxInt
	case most == nil:
		return 1
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(most, len(s.nodes), false)
	if err != nil {
		return 1 // the API server refuses such a value
	}
	return max(1, count)
}

// best returns the first node that is already down, then the first node that shares no budget with an
// unavailable node, and finally the first node.
func (s *state) best(free []*Node) *Node {
	for _, is := range []func(*Node) bool{
		func(n *Node) bool { return n.Down },
		func(n *Node) bool {
			return !slices.ContainsFunc(n.Budgets, func(b string) bool { return s.budgets[b] })
		},
	} {
		if i := slices.IndexFunc(free, is); i >= 0 {
			return free[i]
		}
	}
	return free[0]
}

// asksBudgets reports whether budgets can change the order: if several nodes wait, and several may be
// unavailable, unless the rollout stands until an administrator acts. It does not change with each node
// that begins or returns, as the budgets need a list of all pods.
func (s *state) asksBudgets() bool {
	return s.pause().reason == "" && len(s.failed) < s.failureThreshold() && len(s.waiting) > 1 && s.maxUnavailable() > 1
}

// listIn lists the unavailable nodes of a domain.
func (s *state) listIn(domain string) string {
	return list(among(s.unavailable, func(n *Node) bool { return n.Domain == domain }))
}

func list(nodes []*Node) string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name)
	}
	slices.Sort(names)
	return reasons.Names(names, listed)
}

// nodesOf describes the nodes of a domain.
func (s *state) nodesOf(domain string) string {
	if domain == "" {
		return "the nodes without label " + s.Rollout.TopologyKey
	}
	return "the nodes with " + s.Rollout.TopologyKey + "=" + domain
}
