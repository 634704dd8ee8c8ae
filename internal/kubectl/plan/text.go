// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-k8s/slipway/drain"
)

// folded limits the pods of a group that a table names.
const folded = 3

// Row is one line of the table of a node: a pod, or several of one kind.
type Row struct {
	// Pod is the pod; of a line for several, the first of them.
	Pod
	// Text names the pod, or counts the pods of the line.
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

// Blocked names the blockers, with remedies.
func (p Prediction) Blocked() Remarks {
	return p.remarks(func(pod Pod) string {
		if !pod.Blocks() {
			return ""
		}
		return pod.Message
	})
}

// Lost names volumes and pods whose content would be lost.
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

// Blocks reports whether the drain would not end by itself, as far as the facts show.
func (p Prediction) Blocks() bool {
	return slices.ContainsFunc(p.Nodes, func(n Node) bool { return slices.ContainsFunc(n.Pods, Pod.Blocks) })
}

// count counts the pods with one of the verdicts.
func (n Node) count(verdicts ...drain.Verdict) (total int) {
	for _, p := range n.Pods {
		if slices.Contains(verdicts, p.Verdict) {
			total++
		}
	}
	return total
}

// Headline is the node in one line.
func (n Node) Headline() string {
	if len(n.Pods) == 0 {
		return "no pods"
	}
	parts := []string{fmt.Sprintf("%d evicted in %s", n.count(drain.EvictNow, drain.EvictLater, drain.Stuck, drain.Recur), Count(n.Steps, "step"))}
	for _, part := range []struct {
		n    int
		text string
	}{
		{n.count(drain.DeleteLater), "deleted past their budgets"},
		{n.count(drain.TakeAway), "static removed"},
		{n.count(drain.AwaitCompletion), "waited for"},
		{n.count(drain.Ending), "ending already"},
		{n.count(drain.Blocked, drain.Stuck), "blocked now"},
		{n.count(drain.Behind), "behind them"},
		{n.count(drain.Stay), "left"},
	} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", part.n, part.text))
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

// words are the verdicts in a word or two.
var words = map[drain.Verdict]string{
	drain.EvictNow: "evict", drain.EvictLater: "evict later", drain.DeleteLater: "delete", drain.AwaitCompletion: "wait", drain.Recur: "evict",
	drain.Ending: "ending", drain.Stay: "leave", drain.TakeAway: "remove", drain.Behind: "behind", drain.Stuck: "stuck", drain.Blocked: "blocked",
}

// Action returns the verdict in a word or two.
func (p Pod) Action() string { return words[p.Verdict] }

// Why returns the reason of the verdict in a few words.
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
			return "to end by itself: " + p.source()
		}
		return fmt.Sprintf("%s for it to end by itself: %s", short(p.After), p.source())
	case drain.TakeAway:
		return "static: slipway-host removes it after the other pods"
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
		return "not selected"
	case "":
		if p.Reason == drain.StaticPodLeft {
			return "static, and slipway-host does not remove it"
		}
		return p.source()
	default:
		return string(p.Exemption)
	}
}

// source names the rule, or the label, that defines the behavior of a pod.
func (p Pod) source() string {
	if p.By == "" {
		return "its label " + drain.BehaviorLabel
	}
	return "rule " + p.By
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
