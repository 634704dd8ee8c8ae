// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/drain"
)

// Blocks tells whether a drain would not end by itself, as far as is known.
func (p Prediction) Blocks() bool {
	for _, n := range p.Nodes {
		if n.count(Pod.Blocks) > 0 {
			return true
		}
	}
	return false
}

func (n Node) count(is func(Pod) bool) (total int) {
	for _, p := range n.Pods {
		if is(p) {
			total++
		}
	}
	return total
}

func with(verdicts ...drain.Verdict) func(Pod) bool {
	return func(p Pod) bool { return slices.Contains(verdicts, p.Verdict) }
}

// Headline is the node in one line.
func (n Node) Headline() string {
	if len(n.Pods) == 0 {
		return "no pods"
	}
	parts := []string{fmt.Sprintf("%d evicted in %s", n.count(with(drain.EvictNow, drain.EvictLater, drain.Stuck, drain.Recur)), counted(n.Steps, "step"))}
	for _, part := range []struct {
		text string
		n    int
	}{
		{"%d deleted past their budgets", n.count(with(drain.DeleteLater))},
		{"%d static taken away", n.count(with(drain.TakeAway))},
		{"%d waited for", n.count(with(drain.AwaitCompletion))},
		{"%d ending already", n.count(with(drain.Ending))},
		{"%d blocked now", n.count(Pod.Blocks)},
		{"%d behind them", n.count(with(drain.Behind))},
		{"%d left", n.count(with(drain.Stay))},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf(part.text, part.n))
		}
	}
	return fmt.Sprintf("%s: %s", counted(len(n.Pods), "pod"), strings.Join(parts, ", "))
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// What is what would be done with the pod, in a word or two.
func (p Pod) What() string {
	switch p.Verdict {
	case drain.EvictNow:
		return "evict"
	case drain.EvictLater:
		return "evict later"
	case drain.DeleteLater:
		return "delete"
	case drain.AwaitCompletion:
		return "wait"
	case drain.Recur:
		return "evict"
	case drain.Ending:
		return "ending"
	case drain.Stay:
		return "leave"
	case drain.TakeAway:
		return "take away"
	case drain.Behind:
		return "behind"
	case drain.Stuck:
		return "stuck"
	default:
		return "blocked"
	}
}

// Why says the same in a few words more.
func (p Pod) Why() string {
	switch p.Verdict {
	case drain.EvictLater:
		if p.Reason == "" {
			return "after those before it"
		}
		return "held by " + p.inTheWay()
	case drain.DeleteLater:
		return fmt.Sprintf("after %s, past %s", short(p.After), p.inTheWay())
	case drain.AwaitCompletion:
		if p.After == "" {
			return "to end by itself: rule " + p.By
		}
		return fmt.Sprintf("%s for it to end by itself: rule %s", short(p.After), p.By)
	case drain.TakeAway:
		return "static: by slipway-host, when all others are gone"
	case drain.Recur:
		return "and left when its DaemonSet has started it three times again"
	case drain.Stay:
		return p.exempt()
	case drain.Behind:
		return "others do not leave"
	case drain.Stuck, drain.Blocked:
		return strings.TrimSuffix(fmt.Sprintf("%s: %s", p.Reason, p.By), ": ")
	default:
		return ""
	}
}

func (p Pod) inTheWay() string {
	switch p.Reason {
	case drain.BudgetExhausted, drain.BudgetImpossible, drain.BudgetNotObserved, drain.BudgetSyncFailed, drain.MultipleBudgets:
		return "budget " + p.By
	default:
		return string(p.Reason)
	}
}

func (p Pod) exempt() string {
	switch p.Exemption {
	case drain.DaemonSetPod:
		return "of a DaemonSet"
	case drain.StaticPod:
		return "static"
	case drain.NotTargeted:
		return "not asked for"
	case "":
		if p.Reason == drain.StaticPodLeft {
			return "static, and not to be taken away"
		}
		return "rule " + p.By
	default:
		return string(p.Exemption)
	}
}

// short is a duration without units of which there are none.
func short(duration string) string {
	for _, zero := range []struct{ of, without string }{{"m0s", "m"}, {"h0m", "h"}} {
		if rest, ends := strings.CutSuffix(duration, zero.of); ends {
			duration = rest + zero.without
		}
	}
	return duration
}

func (p Pod) name() string { return p.Namespace + "/" + p.Name }
