// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// facts is all that a decision is made from, at one moment. It is read-only.
type facts struct {
	now time.Time
	// ahead is by how much the server's clock is ahead of ours.
	ahead    time.Duration
	nodeName string
	// request is what was asked for.
	request Request
	// own is Config.OwnNamespace. It may be empty.
	own  string
	node nodeFacts
	// podsKnown: the watch of pods has told all pods of the node.
	podsKnown bool
	pods      []*corev1.Pod // in scope: bound to the node
	// budgets of the namespaces whose budgets are all known, by namespace.
	budgets map[string][]*budget
	// guards are the budgets of each pod, where they are known. Nil: to be found among budgets.
	guards map[types.UID][]*budget
	// budgetsBad are the namespaces whose budgets cannot be read for some time to come.
	budgetsBad map[string]bool
	// unheard are the namespaces where it is not known whether pods are still refused: the watch of their budgets, of the
	// node or of its pods has failed.
	unheard map[string]bool
	// ruled: there may be rules. rules are those of the namespaces whose rules are known, by namespace.
	ruled bool
	rules map[string][]Rule
	// rulesBad are the namespaces whose rules cannot be read for some time to come.
	rulesBad map[string]bool
	// statics are what becomes of the static pods in scope.
	statics map[types.UID]Removal
	// reserved are the budgets that are busy, and until when; the zero time where only an answer ends the reservation.
	reserved map[types.UID]time.Time
	tries    map[types.UID]try
	// inFlight counts the evictions that are not answered.
	inFlight int
	brake    brake
	// reading holds what cannot be read. readingLate is when something that has not been read will be one more.
	reading     []obstacle
	readingLate time.Time
	// gone counts pods that were in scope once and do not exist any more.
	gone int
	// recurring are the controllers whose pods come back again and again.
	recurring map[types.UID]bool
	// turns tell when the turn of each present pod came, refusals since when its eviction has been refused.
	turns, refusals map[types.UID]time.Time
	// volumes are what the pods that stay use. resolveAfter is when claims may be read (again).
	volumes      volumesInUse
	resolveAfter time.Time
	// emptied is when the last pod in scope was gone. Zero while there is one.
	emptied time.Time
	// confirmed: the last LIST has shown no pod in scope, and none has come since.
	confirmed bool
	// confirmAfter is when the last LIST may be asked for (again).
	confirmAfter time.Time
	// overridden are the pods that were deleted although their eviction was not accepted.
	overridden []types.NamespacedName
	// responders are those of the pods in scope; respondersLate is when a drain that does not know of them goes on with the
	// pods that have none of their own.
	responders     Responders
	respondersLate time.Time
	// named are the pods that are left to responders. namedComplete: which they are has been complete once.
	named         map[types.UID]naming
	namedComplete bool
	// since tells when each present blocker was first seen.
	since map[blockerKey]time.Time
}

// nodeFacts is what the watch shows of the node.
type nodeFacts struct {
	known         bool
	exists        bool
	unschedulable bool
	tainted       bool
	ready         bool
	// attached are its volumes, as Node.status.volumesAttached names them.
	attached []string
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
	for _, v := range node.Status.VolumesAttached {
		n.attached = append(n.attached, string(v.Name))
	}
	return n
}

// closed reports that no new pod can come to the node.
func (n nodeFacts) closed() bool {
	return n.known && (!n.exists || n.unschedulable && n.tainted)
}

// plan is what to do about the facts.
type plan struct {
	// evict are the evictions to send now.
	evict []send
	// resolve are the claims whose volumes must be known.
	resolve []types.NamespacedName
	// confirm asks for the LIST that ends the drain if it shows no pod in scope.
	confirm bool
	status  Status
	// notes go into the next facts.
	notes notes
	// wake is when to decide again even if nothing happens. Zero means never.
	wake time.Time
}

// notes is what a decision leaves for the next one.
type notes struct {
	since         map[blockerKey]time.Time
	turns         map[types.UID]time.Time
	refusals      map[types.UID]time.Time
	emptied       time.Time
	named         map[types.UID]naming
	namedComplete bool
	// claims: there are some whose volumes are not known.
	claims bool
}

// send is one eviction to send, or what follows when evictions lead to nothing.
type send struct {
	pod    *corev1.Pod
	by     means
	guards []*budget
	// budget is the one that the eviction must reserve. Nil if it needs none.
	budget *budget
	counts bool
}

// decide makes all decisions of a drain.
func decide(f facts) plan {
	leaving, left := filter(f.pods, f)
	paced := pace(order(leaving, f.own), f)
	paced.namedComplete = f.namedComplete || f.complete(leaving)
	paced.beginPatience(leaving)
	p := plan{evict: paced.sends, wake: earlier(paced.wake, f.readingLate)}
	e := finish(leaving, f)
	p.resolve, p.confirm, p.wake = e.resolve, e.confirm, earlier(p.wake, e.wake)
	p.notes = notes{
		turns: paced.turns, refusals: paced.refusals, emptied: e.emptied, claims: e.claims, named: paced.named,
		namedComplete: paced.namedComplete,
	}
	var wake time.Time
	p.status, p.notes.since, wake = summarise(leaving, left, paced, e, f)
	p.wake = earlier(p.wake, wake)
	if p.notes.namedComplete {
		p.status.Named = namedPods(leaving, paced.named)
	}
	return p
}

// earlier returns the earlier of two moments, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
