// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
)

// facts are the input of a decision: the watches, the queue and the memory at one moment. A decision only reads them.
type facts struct {
	now time.Time
	// ahead is the lead of the server's clock over this process's clock.
	ahead    time.Duration
	nodeName string
	request  Request
	// own is Config.OwnNamespace. It may be empty.
	own  string
	node nodeFacts
	// shutdown of the node's machine; zero: the machine does not stop.
	shutdown span
	// podsKnown: the watch of pods has shown all pods of the node.
	podsKnown bool
	pods      []*corev1.Pod // in scope: bound to the node
	// budgets has the namespaces whose budgets are all known, by namespace.
	budgets map[string][]*budget
	// guards are the budgets of each pod. If guards is nil, evict finds them among budgets.
	guards map[types.UID][]*budget
	// budgetsBad are the namespaces whose last read of budgets failed.
	budgetsBad map[string]bool
	// unheard are the namespaces with a failed watch: that of their budgets, of the node, or of its pods. A refusal there may
	// be out of date.
	unheard map[string]bool
	// ruled: Config has a RuleReader. rules has the namespaces whose rules are known, by namespace.
	ruled bool
	rules map[string][]Rule
	// rulesBad are the namespaces whose last read of rules failed.
	rulesBad map[string]bool
	statics  map[types.UID]Removal
	// reserved are the busy budgets, each with the end of its reservation; zero: only an answer ends it.
	reserved map[types.UID]time.Time
	// reading lists the failed reads. At readingLate, a read that has no answer yet joins them.
	reading     []obstacle
	readingLate time.Time
	// responders are the responders of the pods in scope. If they are still unknown at respondersLate, the drain continues with
	// the pods that have no responders.
	responders     Responders
	respondersLate time.Time
	memory
}

// nodeFacts is the node as the watch shows it.
type nodeFacts struct {
	known         bool
	exists        bool
	unschedulable bool
	tainted       bool
	ready         bool
	labels        labels.Set
	// attached are its volumes, by their names in Node.status.volumesAttached.
	attached []string
}

func nodeFactsOf(node *corev1.Node) nodeFacts {
	n := nodeFacts{known: true, exists: true, unschedulable: node.Spec.Unschedulable, labels: node.Labels}
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

// mayEvict reports whether the scheduler keeps evicted pods from this node.
func (n nodeFacts) mayEvict() bool { return n.known && n.exists && n.unschedulable }

// closed reports that no new pod can come to the node.
func (n nodeFacts) closed() bool { return n.known && (!n.exists || n.unschedulable && n.tainted) }

// plan is the result of a decision.
type plan struct {
	// evict are the requests to send now.
	evict []send
	// resolve are the claims whose volumes the next decision needs.
	resolve []types.NamespacedName
	// confirm requests the LIST that ends the drain if it shows no pod in scope.
	confirm bool
	status  Status
	notes   notes
	// wake is the time of the next decision if no event comes before. Zero: never.
	wake time.Time
}

// notes is the part of a decision that the next one continues from.
type notes struct {
	// since is the first sight of each present blocker.
	since map[blockerKey]time.Time
	// turns is the begin of each present pod's turn, refusals the begin of the refusals of its eviction.
	turns, refusals map[types.UID]time.Time
	// emptied is the time at which the last pod in scope was missing. Zero: pods are left.
	emptied time.Time
	// named are the pods that are left to responders. namedComplete: they have been complete once.
	named         map[types.UID]naming
	namedComplete bool
	// claims: the volumes of some claims are unknown.
	claims bool
}

// send is a request for one pod: an eviction, or a step of the Escalation.
type send struct {
	pod    *corev1.Pod
	by     means
	guards []*budget
	// budget must be reserved first. Nil: no budget counts the eviction.
	budget *budget
	counts bool
}

// means is a kind of request that makes a pod leave.
type means int

const (
	// byEviction respects budgets.
	byEviction means = iota
	// byDeletion overrides budgets.
	byDeletion
	// byKill shortens the grace period of a terminating pod to a second.
	byKill
)

// decide makes all decisions of a drain.
func decide(f facts) plan {
	leaving, left := filter(f.pods, f)
	paced := pace(order(leaving, f.own), f)
	paced.namedComplete = f.namedComplete || f.complete(leaving)
	paced.beginPatience(leaving)
	e := finish(leaving, f)
	paced.emptied, paced.claims = e.emptied, e.claims
	status, wake := summarise(leaving, left, paced, e, f)
	if paced.namedComplete {
		status.Named = namedPods(leaving, paced.named)
	}
	wake = earlier(wake, earlier(earlier(paced.wake, e.wake), f.readingLate))
	return plan{evict: paced.sends, resolve: e.resolve, confirm: e.confirm, status: status, notes: paced.notes, wake: wake}
}

// earlier returns the earlier of two moments, of which zero means never.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
