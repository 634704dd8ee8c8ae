// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"testing"

	"github.com/slipway-k8s/slipway/drain"
)

func TestWhatBecomesOfAPodIsSaidInAFewWords(t *testing.T) {
	for want, p := range map[string]Pod{
		"evict: ":                                 {Verdict: drain.EvictNow},
		"evict later: after those before it":      {Verdict: drain.EvictLater},
		"evict later: held by budget web":         {Verdict: drain.EvictLater, Reason: drain.BudgetExhausted, By: "web"},
		"evict later: held by Terminating":        {Verdict: drain.EvictLater, Reason: drain.Terminating},
		"delete: after 1h30m, past budget web":    {Verdict: drain.DeleteLater, Reason: drain.BudgetImpossible, By: "web", After: "1h30m0s"},
		"wait: to end by itself: rule batch/jobs": {Verdict: drain.AwaitCompletion, Reason: drain.WaitingForCompletion, By: "batch/jobs"},
		"wait: 2h for it to end by itself: rule batch/jobs": {
			Verdict: drain.AwaitCompletion, Reason: drain.WaitingForCompletion, By: "batch/jobs", After: "2h0m0s",
		},
		"evict: and left after its DaemonSet has started it again three times": {Verdict: drain.Recur},
		"ending: ":              {Verdict: drain.Ending},
		"leave: of a DaemonSet": {Verdict: drain.Stay, Exemption: drain.DaemonSetPod},
		"leave: static":         {Verdict: drain.Stay, Exemption: drain.StaticPod},
		"leave: static, and slipway-host does not remove it":           {Verdict: drain.Stay, Reason: drain.StaticPodLeft},
		"remove: static: slipway-host removes it after the other pods": {Verdict: drain.TakeAway},
		"leave: not selected":                     {Verdict: drain.Stay, Exemption: drain.NotTargeted},
		"leave: rule shop/stay":                   {Verdict: drain.Stay, Reason: drain.PodSkipped, By: "shop/stay"},
		"leave: its label cluster.x-k8s.io/drain": {Verdict: drain.Stay, Reason: drain.PodSkipped},
		"behind: pods before it do not leave":     {Verdict: drain.Behind},
		"stuck: NodeNotReady: w1":                 {Verdict: drain.Stuck, Reason: drain.NodeNotReady, By: "w1"},
		"blocked: UnmanagedPod":                   {Verdict: drain.Blocked, Reason: drain.UnmanagedPod},
		"blocked: BudgetSyncFailed: web":          {Verdict: drain.Blocked, Reason: drain.BudgetSyncFailed, By: "web"},
		"blocked: MultipleBudgets: a, b":          {Verdict: drain.Blocked, Reason: drain.MultipleBudgets, By: "a, b"},
		"blocked: RuleInvalid: rules of x":        {Verdict: drain.Blocked, Reason: drain.RuleInvalid, By: "rules of x"},
	} {
		if got := fmt.Sprintf("%s: %s", p.Action(), p.Why()); got != want {
			t.Errorf("%+v: got %q, want %q", p, got, want)
		}
	}
}

func TestManyPodsOfAWorkloadThatShareTheirFateAreFolded(t *testing.T) {
	n := Node{}
	for i := range 6 {
		n.Pods = append(n.Pods, Pod{Namespace: "shop", Name: fmt.Sprint("web-", i), Owner: "Deployment shop/web", Verdict: drain.EvictNow, Step: 1})
	}
	n.Pods = append(n.Pods, Pod{Namespace: "shop", Name: "web-6", Owner: "Deployment shop/web", Verdict: drain.EvictLater, Step: 1})
	texts := func(all bool) (texts []string) {
		for _, row := range n.Rows(all) {
			texts = append(texts, row.Text)
		}
		return texts
	}
	if got := fmt.Sprint(texts(false)); got != "[shop/web-0 shop/web-1 shop/web-2 and 3 more of Deployment shop/web shop/web-6]" {
		t.Errorf("folded: %s", got)
	}
	if got := texts(true); len(got) != 7 {
		t.Errorf("of all pods: %q", got)
	}
}
