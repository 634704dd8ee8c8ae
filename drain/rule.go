// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/labels"
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
