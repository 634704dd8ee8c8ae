// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// Behavior is the treatment of a pod by a drain.
type Behavior string

const (
	// Evict evicts the pod.
	Evict Behavior = "Evict"
	// Skip leaves the pod on the node, and the drain does not wait for it.
	Skip Behavior = "Skip"
	// WaitCompleted waits until the pod has ended by itself, then removes it.
	WaitCompleted Behavior = "WaitCompleted"
	// Freeze keeps the pod on the node while the rule exists, and the drain waits. An eviction that was sent before continues. Drains
	// before a shutdown, and requests with PassFreezes, ignore it.
	Freeze Behavior = "Freeze"
)

// BehaviorLabel is Cluster API's label by which a pod chooses its behavior itself, before all rules: "skip" or "wait-completed". A pod
// with another value has the behavior of its rules. The order and the deadlines of the rules apply in any case.
const BehaviorLabel = "cluster.x-k8s.io/drain"

// Rule defines how pods leave. A rule of a namespace applies to its own pods; a rule of the cluster applies to all pods, and
// sets the limits.
//
// The rules that select a pod have this precedence:
//
//   - Freeze comes before all other rules, and before the pod's BehaviorLabel.
//   - Behavior and Order: the rule of the pod's namespace; without such a rule, the rule of the cluster; otherwise Evict and 0.
//     If several rules are on the same level, the first by name.
//   - Deadline: the shortest deadline of that rule, of all rules of the cluster that select the pod, and Request.PodTimeout.
type Rule struct {
	// Name appears in messages.
	Name string
	// Cluster marks a rule of the cluster. Other rules are of the pods' namespace.
	Cluster bool
	// Pods selects the pods by their labels. Required.
	Pods labels.Selector
	// Nodes selects the nodes by their labels: the rule applies to drains of these. Nil selects all nodes.
	Nodes labels.Selector
	// Behavior is required.
	Behavior Behavior
	// Order is the order in which pods leave, the lowest first.
	Order int32
	// Why explains a Freeze, for messages.
	Why string
	// Deadline limits the wait for the pod, as Request.PodTimeout. Zero means without limit.
	Deadline time.Duration
}

// ErrBadRule is wrapped by an error of a RuleReader that cannot understand a rule. The pods of the namespace stay until it can.
var ErrBadRule = errors.New("bad rule")

// RuleReader reads the rules for the pods of a namespace. Its methods are called from several goroutines.
type RuleReader interface {
	// Follow calls report with all rules that may apply to pods of the namespace, and again with each change, until ctx ends;
	// then it returns. A Drain calls it once for each namespace that has pods in scope, when it sees the first of them, and ends
	// ctx when it sees no pod there. An err reports a failed read: the last reported rules stay in force, unless it is an ErrBadRule.
	// Without rules in force, no pod of the namespace leaves.
	Follow(ctx context.Context, namespace string, report func(rules []Rule, err error))
}

// treatment is the result of the rules for a pod.
type treatment struct {
	behavior Behavior
	// rule defines the behavior. Empty: no rule does, or the pod's BehaviorLabel defines it.
	rule  string
	order int32
	// deadline limits the wait for the pod from the begin of its step. Zero: without limit.
	deadline time.Duration
	// freeze is the rule that freezes the pod, with its Why. Empty: no rule freezes it.
	freeze, why string
}

// source names the rule, or the label, that defines a behavior other than Evict.
func (t treatment) source() string {
	if t.rule == "" {
		return "its label " + BehaviorLabel
	}
	return "rule " + t.rule
}

// treat applies the rules to a pod of a node with these labels, with the precedence that Rule documents, and the pod's BehaviorLabel.
func treat(pod *corev1.Pod, node labels.Set, rules []Rule, timeout time.Duration) treatment {
	t := treatment{behavior: Evict, deadline: timeout}
	var local, cluster *Rule
	if !slices.IsSortedFunc(rules, compareRules) {
		rules = slices.SortedFunc(slices.Values(rules), compareRules)
	}
	for _, r := range rules {
		if !r.Pods.Matches(labels.Set(pod.Labels)) || r.Nodes != nil && !r.Nodes.Matches(node) {
			continue
		}
		if r.Behavior == Freeze {
			if t.freeze == "" {
				t.freeze, t.why = r.Name, r.Why
			}
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
	for _, own := range []Behavior{Skip, WaitCompleted} {
		if strings.EqualFold(strings.ReplaceAll(pod.Labels[BehaviorLabel], "-", ""), string(own)) {
			t.behavior, t.rule = own, ""
		}
	}
	return t
}

func compareRules(a, b Rule) int { return cmp.Compare(a.Name, b.Name) }

// shorter returns the shorter of two limits, of which zero means none.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

// waits reports whether the drain waits for the completion of the pod now. turn is the begin of its step.
func (l leaver) waits(turn, now time.Time) bool {
	return l.behavior == WaitCompleted && !isFinished(l.pod) && !l.timedOut(turn, now)
}

// timedOut reports whether the pod has had its deadline.
func (l leaver) timedOut(turn, now time.Time) bool {
	return l.deadline > 0 && !now.Before(turn.Add(l.deadline))
}

// ruleWatch keeps the rules of a namespace for one Drain.
type ruleWatch struct {
	close func()

	mu    sync.Mutex
	rules []Rule
	known bool
	err   error
}

func startRuleWatch(ctx context.Context, reader RuleReader, namespace string, wake watchstore.Signal) *ruleWatch {
	w := &ruleWatch{}
	w.close = watchstore.Start(context.WithoutCancel(ctx), func(ctx context.Context) {
		reader.Follow(ctx, namespace, func(rules []Rule, err error) {
			w.take(rules, err)
			wake.Poke()
		})
	})
	return w
}

func (w *ruleWatch) take(rules []Rule, err error) {
	if err == nil {
		err = checkRules(rules)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.err = err
	switch {
	case err == nil:
		w.rules, w.known = slices.SortedFunc(slices.Values(rules), compareRules), true
	case errors.Is(err, ErrBadRule):
		w.known = false
	}
}

func checkRules(rules []Rule) error {
	for _, r := range rules {
		switch {
		case r.Pods == nil:
			return fmt.Errorf("%w: %s selects no pods", ErrBadRule, r.Name)
		case !slices.Contains([]Behavior{Evict, Skip, WaitCompleted, Freeze}, r.Behavior):
			return fmt.Errorf("%w: %s has the behavior %q", ErrBadRule, r.Name, r.Behavior)
		}
	}
	return nil
}

func (w *ruleWatch) list() (rules []Rule, known bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.rules, w.known
}

// Synced reports whether rules apply.
func (w *ruleWatch) Synced() bool {
	_, known := w.list()
	return known
}

// Err returns the error of the last read.
func (w *ruleWatch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}
