// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// treatment is what the rules make of a pod.
type treatment struct {
	behavior Behavior
	// rule that says so. Empty if none does.
	rule  string
	order int32
	// deadline is how long the drain waits for the pod once its turn has come. Zero: without limit.
	deadline time.Duration
}

// treat applies the rules to a pod, with the precedence that Rule documents.
func treat(pod *corev1.Pod, rules []Rule, timeout time.Duration) treatment {
	t := treatment{behavior: Evict, deadline: timeout}
	var local, cluster *Rule
	for _, r := range byName(rules) {
		if !r.Pods.Matches(labels.Set(pod.Labels)) {
			continue
		}
		if r.Cluster {
			cluster = cmp.Or(cluster, &r)
			t.deadline = shorter(t.deadline, r.Deadline)
		} else {
			local = cmp.Or(local, &r)
		}
	}
	if r := cmp.Or(local, cluster); r != nil {
		t.behavior, t.rule, t.order = r.Behavior, r.Name, r.Order
		t.deadline = shorter(t.deadline, r.Deadline)
	}
	return t
}

func byName(rules []Rule) []Rule {
	if slices.IsSortedFunc(rules, compareRules) {
		return rules
	}
	return slices.SortedFunc(slices.Values(rules), compareRules)
}

func compareRules(a, b Rule) int { return cmp.Compare(a.Name, b.Name) }

// shorter returns the shorter of two limits, of which zero means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// waits tells whether the pod is left to end by itself at this time, given when its turn came.
func (l leaver) waits(turn, now time.Time) bool {
	return l.behavior == WaitCompleted && !isFinished(l.pod) && !l.timedOut(turn, now)
}

// timedOut tells whether the drain has waited for the pod as long as it may.
func (l leaver) timedOut(turn, now time.Time) bool {
	return l.deadline > 0 && !now.Before(turn.Add(l.deadline))
}
