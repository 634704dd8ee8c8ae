// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
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

// Remark is something about some pods.
type Remark struct {
	Pods []string
	Text string
}

// Blocked says what would block, and what helps.
func (p Prediction) Blocked() []Remark {
	return p.remarks(func(pod Pod) string {
		if !pod.Blocks() {
			return ""
		}
		return pod.Message
	})
}

// Lost says what would be lost.
func (p Prediction) Lost() []Remark {
	return p.remarks(func(pod Pod) string {
		var texts []string
		if len(pod.LostVolumes) > 0 {
			texts = append(texts, "the content of emptyDir "+strings.Join(pod.LostVolumes, ", "))
		}
		if pod.Unmanaged {
			texts = append(texts, "the pod itself: nobody starts it again")
		}
		return strings.Join(texts, "; ")
	})
}

// Nowhere says which replacements fit nowhere, and why.
func (p Prediction) Nowhere() []Remark {
	return p.remarks(func(pod Pod) string {
		if pod.Replacement == nil || pod.Replacement.Node != "" {
			return ""
		}
		var texts []string
		for _, o := range pod.Replacement.Obstacles {
			texts = append(texts, fmt.Sprintf("%s %s", counted(o.Nodes, "node"), o.Why))
		}
		return strings.Join(texts, "; ")
	})
}

// remarks puts pods together of which the same is to be said. Empty: nothing.
func (p Prediction) remarks(about func(Pod) string) []Remark {
	at := map[string]int{}
	var all []Remark
	for _, n := range p.Nodes {
		for _, pod := range n.Pods {
			text := about(pod)
			if text == "" {
				continue
			}
			i, known := at[text]
			if !known {
				i = len(all)
				at[text] = i
				all = append(all, Remark{Text: text})
			}
			all[i].Pods = append(all[i].Pods, pod.name())
		}
	}
	return all
}
