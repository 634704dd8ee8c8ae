// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/drain"
)

// folded is how many pods of one kind are named, if there are more.
const folded = 3

// Row is one line of the table of a node: a pod, or several of one kind.
type Row struct {
	// Pod is the pod; of a line for several, the first of them.
	Pod
	// Text names the pod, or says how many more there are.
	Text string
}

// Rows are the pods of the node in their order. Unless all are wanted, many of one workload
// that share their fate become one line after the first few.
func (n Node) Rows(all bool) []Row {
	var rows []Row
	for _, group := range groups(n.Pods) {
		shown := group
		if !all && len(group) > folded+1 {
			shown = group[:folded]
		}
		for _, p := range shown {
			rows = append(rows, Row{p, p.name()})
		}
		if more := len(group) - len(shown); more > 0 {
			rows = append(rows, Row{group[0], strings.TrimSuffix(fmt.Sprintf("and %d more of %s", more, group[0].Owner), " of ")})
		}
	}
	return rows
}

// groups puts pods of one workload with the same fate together, where the first of them is.
func groups(pods []Pod) [][]Pod {
	at := map[string]int{}
	var all [][]Pod
	for _, p := range pods {
		key := fmt.Sprint(p.Step, p.Verdict, p.Exemption, p.Reason, p.By, p.After, "\n", p.Namespace, "\n", p.Owner)
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, nil)
		}
		all[i] = append(all[i], p)
	}
	return all
}

// Remark is one text about some pods, and in a forecast about some nodes.
type Remark struct {
	Nodes []string
	Pods  []string
	Text  string
}

// Remarks collects remarks, one for each text, in order.
type Remarks []Remark

// Add adds a text about a node or about pods. Without a text, it adds nothing.
func (r *Remarks) Add(text, node string, pods ...string) {
	if text == "" {
		return
	}
	i := slices.IndexFunc(*r, func(other Remark) bool { return other.Text == text })
	if i < 0 {
		*r, i = append(*r, Remark{Text: text}), len(*r)
	}
	of := &(*r)[i]
	if node != "" && !slices.Contains(of.Nodes, node) {
		of.Nodes = append(of.Nodes, node)
	}
	of.Pods = append(of.Pods, pods...)
}

// Blocked names the blockers, with what helps.
func (p Prediction) Blocked() Remarks {
	return p.remarks(func(pod Pod) string {
		if !pod.Blocks() {
			return ""
		}
		return pod.Message
	})
}

// Lost names what would be lost.
func (p Prediction) Lost() Remarks {
	return p.remarks(func(pod Pod) string {
		var texts []string
		if len(pod.LostVolumes) > 0 {
			texts = append(texts, "the content of emptyDir "+strings.Join(pod.LostVolumes, ", "))
		}
		if pod.Unmanaged {
			texts = append(texts, "the pod itself: no controller starts it again")
		}
		return strings.Join(texts, "; ")
	})
}

// Nowhere names the replacements that fit on no node, and why.
func (p Prediction) Nowhere() Remarks {
	return p.remarks(func(pod Pod) string {
		if pod.Replacement == nil || pod.Replacement.Node != "" {
			return ""
		}
		var texts []string
		for _, o := range pod.Replacement.Obstacles {
			texts = append(texts, fmt.Sprintf("%s %s", Count(o.Nodes, "node"), o.Why))
		}
		return strings.Join(texts, "; ")
	})
}

// remarks joins the pods that have the same text. Empty: there is nothing to say.
func (p Prediction) remarks(about func(Pod) string) (all Remarks) {
	for _, n := range p.Nodes {
		for _, pod := range n.Pods {
			all.Add(about(pod), "", pod.name())
		}
	}
	return all
}

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
	parts := []string{fmt.Sprintf("%d evicted in %s", n.count(with(drain.EvictNow, drain.EvictLater, drain.Stuck, drain.Recur)), Count(n.Steps, "step"))}
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
	return fmt.Sprintf("%s: %s", Count(len(n.Pods), "pod"), strings.Join(parts, ", "))
}

// Count names a number of things: "1 pod", "2 pods".
func Count(n int, what string) string {
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
		return "and left after its DaemonSet has started it again three times"
	case drain.Stay:
		return p.exempt()
	case drain.Behind:
		return "pods before it do not leave"
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
