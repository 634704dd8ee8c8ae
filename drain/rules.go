// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// Behavior is what a drain does with a pod.
type Behavior string

const (
	// Evict means that the pod is evicted.
	Evict Behavior = "Evict"
	// Skip means that the pod is left on the node, and the drain does not wait for it.
	Skip Behavior = "Skip"
	// WaitCompleted means that the drain waits until the pod has ended by itself, then removes it.
	WaitCompleted Behavior = "WaitCompleted"
)

// Rule says how pods leave. Those of a namespace speak for their own pods; those of the cluster for all, and set the
// limits.
//
// Of the rules that select a pod, this is what counts:
//
//   - Behavior and Order: of the rule of the pod's namespace; without one, of the rule of the cluster; without one,
//     Evict and 0. Of several on the same level, the first by name.
//   - Deadline: the shortest of that rule's, of those of all rules of the cluster that select the pod, and of
//     Request.PodTimeout.
type Rule struct {
	// Name is for people: it is in the messages.
	Name string
	// Cluster tells a rule of the cluster from one of the pods' namespace.
	Cluster bool
	// Pods selects the pods by their labels. Required.
	Pods labels.Selector
	// Behavior is required.
	Behavior Behavior
	// Order says who leaves first: pods of a lower order before those of a higher.
	Order int32
	// Deadline is how long the drain waits for the pod, as Request.PodTimeout. Zero means without limit.
	Deadline time.Duration
}

// ErrBadRule is what an error of a RuleReader wraps if a rule cannot be understood. Then the pods of the namespace stay
// where they are, until it can.
var ErrBadRule = errors.New("bad rule")

// RuleReader tells the rules for the pods of a namespace. Its methods are called from several goroutines.
type RuleReader interface {
	// Follow tells all rules that may apply to pods of the namespace, and again with each change, until ctx ends; then it
	// returns. A Drain calls it once for each namespace that has pods in scope, when the first of them is seen, and ends
	// ctx when the last is gone. An err says why the rules cannot be read now: those that were told before stay in force,
	// unless it is an ErrBadRule. Without rules in force, no pod of the namespace leaves.
	Follow(ctx context.Context, namespace string, tell func(rules []Rule, err error))
}

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

// waits reports whether the pod is left to end by itself at this time, given when its turn came.
func (l leaver) waits(turn, now time.Time) bool {
	return l.behavior == WaitCompleted && !isFinished(l.pod) && !l.timedOut(turn, now)
}

// timedOut reports whether the drain has waited for the pod as long as it may.
func (l leaver) timedOut(turn, now time.Time) bool {
	return l.deadline > 0 && !now.Before(turn.Add(l.deadline))
}

// ruleWatch keeps the rules of a namespace for one Drain.
type ruleWatch struct {
	stop  context.CancelFunc
	ended chan struct{}

	mu    sync.Mutex
	rules []Rule
	known bool
	err   error
}

func startRuleWatch(ctx context.Context, reader RuleReader, namespace string, wake watchstore.Signal) *ruleWatch {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx)) // it ends when the Drain leaves the namespace
	w := &ruleWatch{stop: stop, ended: make(chan struct{})}
	go func() {
		defer close(w.ended)
		reader.Follow(ctx, namespace, func(rules []Rule, err error) {
			w.take(rules, err)
			wake.Poke()
		})
	}()
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
		case r.Behavior != Evict && r.Behavior != Skip && r.Behavior != WaitCompleted:
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

// Synced reports whether rules are in force.
func (w *ruleWatch) Synced() bool {
	_, known := w.list()
	return known
}

// Err says why the rules cannot be read now.
func (w *ruleWatch) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

func (w *ruleWatch) close() {
	w.stop()
	<-w.ended
}
