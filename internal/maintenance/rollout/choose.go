// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// hold is why nobody begins.
type hold struct{ reason, message string }

// unavailable holds nodes back because of those that are out.
func unavailable(format string, args ...any) hold {
	return hold{slipwayv1alpha1.ReasonMaxUnavailable, fmt.Sprintf(format, args...)}
}

// choose is the node that begins next, or what holds back those that wait.
func (s *state) choose() (*Node, hold) {
	if s.rollout.Batches && len(s.before) > 0 {
		return nil, unavailable("the next batch begins when all have returned that are out: %s", list(s.before))
	}
	if h, paused := s.pause(); paused {
		return nil, h
	}
	group := s.group()
	if len(group) == 0 {
		return nil, unavailable("the control plane comes when the workers are back: %s", list(s.workersAtWork()))
	}
	turn := s.turn(group)
	if len(turn) == 0 {
		return nil, s.unfinished(s.currentDomain(group))
	}
	if fit := among(turn, s.fits); len(fit) > 0 {
		return s.best(fit), hold{}
	}
	return nil, s.why(turn[0])
}

// turn are those of a group whose turn it is: one domain before the next.
func (s *state) turn(group []*Node) []*Node {
	if s.rollout.TopologyKey == "" || s.rollout.PerDomain != nil {
		return group
	}
	current := s.currentDomain(group)
	return among(group, func(n *Node) bool { return n.Domain == current })
}

// group are the workers that wait, or what waits of the control plane once they are all back.
func (s *state) group() []*Node {
	workers := among(s.waiting, func(n *Node) bool { return !n.ControlPlane })
	if len(workers) > 0 || len(s.workersAtWork()) > 0 {
		return workers
	}
	return s.waiting
}

// currentDomain is the one that has begun; else, the first that has nodes that wait or are
// down.
func (s *state) currentDomain(group []*Node) string {
	unfinished := slices.Concat(s.before, s.begun)
	if len(unfinished) == 0 {
		unfinished = slices.Concat(group, s.out)
	}
	first := unfinished[0].Domain
	for _, n := range unfinished {
		first = min(first, n.Domain)
	}
	return first
}

// unfinished is why the next domain does not begin.
func (s *state) unfinished(current string) hold {
	out := among(s.out, func(n *Node) bool { return n.Domain == current })
	return unavailable("the next domain begins when %s are back: %s", s.naming(current), list(out))
}

// fits says whether a node whose turn it is may begin.
func (s *state) fits(n *Node) bool {
	switch {
	case n.ControlPlane && len(s.othersOut(n)) > 0:
		return false
	case n.Down: // it costs nothing now; but those that were begun are out when they are up again
		return s.mayBegin(n.Domain)
	default:
		return !s.full() && !s.domainFull(n.Domain)
	}
}

// why says why a node may not.
func (s *state) why(n *Node) hold {
	if out := s.othersOut(n); n.ControlPlane && len(out) > 0 {
		return unavailable("one node of the control plane may be out, and %s: %s", are(len(out)), listNames(out))
	}
	if s.full() {
		return s.whyFull()
	}
	return s.whyDomainFull(n.Domain)
}

// othersOut are the nodes of the control plane that are out, but for this one.
func (s *state) othersOut(n *Node) []string {
	var others []string
	for _, name := range s.controlPlaneOut {
		if name != n.Name {
			others = append(others, name)
		}
	}
	slices.Sort(others)
	return others
}

// asksBudgets says whether who begins can hang on budgets: where more than one may be out, and
// more than one waits, unless nobody begins until somebody says so. It does not change with
// each node that begins or returns, as what is asked for costs a list of all pods.
func (s *state) asksBudgets() bool {
	if _, paused := s.pause(); paused || s.tooManyFailed() {
		return false
	}
	return len(s.waiting) > 1 && s.limit() > 1
}

// best is the first of those that cost nothing, else of those that share no budget with a
// node that is out, else of all.
func (s *state) best(fit []*Node) *Node {
	for _, n := range fit {
		if n.Down {
			return n
		}
	}
	for _, n := range fit {
		if !slices.ContainsFunc(n.Budgets, func(b string) bool { return s.budgets[b] }) {
			return n
		}
	}
	return fit[0]
}

// limit is how many of the selected nodes may be out. With perDomain, maxUnavailable limits
// only if it is set.
func (s *state) limit() int {
	most := s.rollout.MaxUnavailable
	switch {
	case most == nil && s.rollout.PerDomain != nil:
		return math.MaxInt
	case most == nil:
		return 1
	}
	count, err := intstr.GetScaledValueFromIntOrPercent(most, len(s.nodes), false)
	if err != nil {
		return 1 // what the API server refuses
	}
	return max(1, count)
}

func (s *state) full() bool {
	return len(s.out) >= s.limit()
}

// mayBegin says whether no more nodes than may be out have begun, whether they were down then
// or not.
func (s *state) mayBegin(domain string) bool {
	begun := slices.Concat(s.before, s.begun)
	inDomain := among(begun, func(n *Node) bool { return n.Domain == domain })
	return len(begun) < s.limit() && (s.rollout.PerDomain == nil || len(inDomain) < int(*s.rollout.PerDomain))
}

func (s *state) whyFull() hold {
	value := "1 by default"
	if s.rollout.MaxUnavailable != nil {
		value = s.rollout.MaxUnavailable.String()
	}
	return unavailable("%d of %s may be out (maxUnavailable %s), and %s: %s",
		s.limit(), nodes(len(s.nodes)), value, are(len(s.out)), list(s.out))
}

func (s *state) domainFull(domain string) bool {
	return s.rollout.PerDomain != nil && s.outIn[domain] >= int(*s.rollout.PerDomain)
}

func (s *state) whyDomainFull(domain string) hold {
	out := among(s.out, func(n *Node) bool { return n.Domain == domain })
	return unavailable("%d of %s may be out (perDomain), and %s: %s",
		*s.rollout.PerDomain, s.naming(domain), are(len(out)), list(out))
}

const (
	defaultFailureThreshold = 1
	defaultMaxPendingPods   = 10
)

// brake says why nobody may begin, however few are out.
func (s *state) brake() (hold, bool) {
	if s.tooManyFailed() {
		return hold{slipwayv1alpha1.ReasonFailureThreshold, fmt.Sprintf("%s failed (failureThreshold %d): %s",
			have(len(s.failed)), s.failureThreshold(), list(s.failed))}, true
	}
	// How many there are changes all the time, and would change the message each time. Who
	// has been waiting for longest stays the same.
	if most := orElse(s.rollout.MaxPendingPods, defaultMaxPendingPods); most > 0 && s.pendingPods >= most {
		return hold{slipwayv1alpha1.ReasonPendingPods, fmt.Sprintf(
			"of the pods that were created since the maintenance began, %d or more are Pending or not Ready (maxPendingPods %d)%s", most, most, s.suchAs())}, true
	}
	return hold{}, false
}

// suchAs names a few of the pods, if any name is known.
func (s *state) suchAs() string {
	if len(s.pendingNames) == 0 {
		return ""
	}
	return ", such as " + strings.Join(s.pendingNames, ", ")
}

func (s *state) tooManyFailed() bool { return len(s.failed) >= s.failureThreshold() }

func (s *state) failureThreshold() int {
	return orElse(s.rollout.FailureThreshold, defaultFailureThreshold)
}

// pause holds back who would return after the pause: those that are at work count as if they
// had returned, so that a pause after one node is a pause with one node done.
func (s *state) pause() (hold, bool) {
	working := len(s.atWork())
	if s.rollout.PauseAfter == nil || s.returned+working < int(*s.rollout.PauseAfter) {
		return hold{}, false
	}
	message := fmt.Sprintf("%s returned (pauseAfter %d)", have(s.returned), *s.rollout.PauseAfter)
	if working > 0 {
		message += fmt.Sprintf(", and %s at work", are(working))
	}
	return hold{slipwayv1alpha1.ReasonPauseAfter, message}, true
}

func orElse(value *int32, unset int) int {
	if value == nil {
		return unset
	}
	return int(*value)
}
