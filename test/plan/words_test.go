// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
)

// The fates of pods, in words that both a prediction and an observer can use. A pod that
// stays untouched is left, whether a drain would leave it or never came to it.
const (
	evicted   = "evicted"
	deleted   = "deleted"
	completed = "completed"
	ended     = "ended"
	recurs    = "evicted until it is left"
	left      = "left"
)

// foretold is the fate that a prediction says.
func foretold(p plan.Pod) string {
	switch p.Verdict {
	case drain.EvictNow, drain.EvictLater:
		return evicted
	case drain.DeleteLater:
		return deleted
	case drain.AwaitCompletion:
		return completed
	case drain.Recur:
		return recurs
	case drain.Ending:
		return ended
	case drain.Behind:
		return left
	case drain.Stay:
		return because(left, p.Reason, p.By)
	case drain.Stuck:
		return because("evicted and stuck", p.Reason, p.By)
	case drain.Blocked:
		return because("blocked", p.Reason, p.By)
	default:
		return fmt.Sprintf("unknown verdict %q", p.Verdict)
	}
}

func because(fate string, reason drain.Reason, by string) string {
	return strings.TrimSpace(fmt.Sprintf("%s %s %s", fate, reason, by))
}

// verdictOf is what a coverage counts.
func verdictOf(p plan.Pod) string {
	return strings.TrimSpace(fmt.Sprint(p.Verdict, " ", p.Reason, p.Exemption))
}

// byApp counts the fates of the pods of each app: which of them go first is a matter of
// chance between drains.
func byApp(fates map[string]string) map[string]string {
	all := map[string][]string{}
	for _, pod := range slices.Sorted(maps.Keys(fates)) {
		app, _, _ := strings.Cut(pod, "-")
		all[app] = append(all[app], fates[pod])
	}
	counted := map[string]string{}
	for app, of := range all {
		slices.Sort(of)
		counted[app] = strings.Join(of, ", ")
	}
	return counted
}
