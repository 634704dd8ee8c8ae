// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// facts is all that a decision is made from, at one moment.
type facts struct {
	now      time.Time
	nodeName string
	node     nodeFacts
	// podsKnown: the watch of pods has told all pods of the node.
	podsKnown bool
	pods      []*corev1.Pod
	// budgets of the namespaces whose budgets are all known, by namespace.
	budgets map[string][]*budget
	// slots of the budgets that are taken, and until when; the zero time where only an answer frees the slot.
	slots map[types.UID]time.Time
	tries map[types.UID]try
	// inFlight counts evictions that are not answered.
	inFlight int
	brake    brake
	// reading holds what cannot be read.
	reading []obstacle
	// gone counts pods that were in scope once and do not exist any more.
	gone int
	// confirmAfter is when the last LIST may be asked for (again).
	confirmAfter time.Time
	// since tells when each present blocker was first seen.
	since map[blockerKey]time.Time
}

// nodeFacts is what the watch says of the node.
type nodeFacts struct {
	known         bool
	exists        bool
	unschedulable bool
	tainted       bool
	ready         bool
}

func nodeFactsOf(node *corev1.Node) nodeFacts {
	n := nodeFacts{known: true, exists: true, unschedulable: node.Spec.Unschedulable}
	for _, t := range node.Spec.Taints {
		if t.Key == corev1.TaintNodeUnschedulable && t.Effect == corev1.TaintEffectNoSchedule {
			n.tainted = true
		}
	}
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			n.ready = c.Status == corev1.ConditionTrue
		}
	}
	return n
}

// plan is what to do about the facts.
type plan struct {
	// evict are the evictions to send now.
	evict []send
	// confirm asks for the LIST that ends the drain if it shows no pod in scope.
	confirm bool
	status  Status
	// since goes into the next facts.
	since map[blockerKey]time.Time
	// wake is when to decide again even if nothing happens. Zero means never.
	wake time.Time
}

// send is one eviction to send.
type send struct {
	pod    *corev1.Pod
	guards []*budget
	// budget is the one whose slot the eviction needs. Nil if it needs none.
	budget *budget
	counts bool
}

// decide is the whole of the drain's thinking.
func decide(f facts) plan {
	pods := order(filter(scope(f.nodeName, f.pods)))
	sends, holds, wake := pace(pods, f)
	p := plan{evict: sends, wake: wake}
	p.status, p.since, wake = summarise(pods, holds, f)
	p.wake = earlier(p.wake, wake)
	if f.podsKnown && len(pods) == 0 && f.node.closed() {
		p.confirm = !f.now.Before(f.confirmAfter)
		if !p.confirm {
			p.wake = earlier(p.wake, f.confirmAfter)
		}
	}
	return p
}

// closed tells that no new pod is to be expected on the node.
func (n nodeFacts) closed() bool {
	return n.known && (!n.exists || n.unschedulable && n.tainted)
}

// earlier returns the earlier of two moments, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
