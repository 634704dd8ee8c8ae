// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Snapshot is the part of a cluster that drains of some of its nodes depend on, at one moment.
type Snapshot struct {
	// Nodes are drained at the same time.
	Nodes []NodeSnapshot
	// Budgets are all budgets of the pods' namespaces, by namespace.
	Budgets map[string][]*policyv1.PodDisruptionBudget
	// Rules are the rules for the pods of a namespace, by namespace.
	Rules map[string][]Rule
	// BadRules are the errors of namespaces with rules that cannot be understood: the pods there stay.
	BadRules map[string]error
	// OwnNamespace and StaticPods are the fields of Config.
	OwnNamespace string
	StaticPods   func(*corev1.Node, *corev1.Pod) Removal
	// Unreplaced are pods whose replacements will not become ready, because they fit on no node. Replacements of other pods
	// with a controller become as ready as the pods are.
	Unreplaced map[types.UID]bool
}

// NodeSnapshot is one node that is drained.
type NodeSnapshot struct {
	// Node is required.
	Node *corev1.Node
	// Pods are the pods that are bound to the node. Preview ignores other pods.
	Pods []*corev1.Pod
	// Request is the request for the drain. Preview sets its NodeName.
	Request Request
}

// Outlook predicts the drain of a node.
type Outlook struct {
	// Node is its name.
	Node string
	// Steps counts the steps in which its pods leave.
	Steps int
	// Pods are all pods of the node: first the pods that must leave, in their order, then the other pods.
	Pods []PodOutlook
}

// PodOutlook predicts the treatment of a pod.
type PodOutlook struct {
	Pod     *corev1.Pod
	Verdict Verdict
	// Step is the number of the pod's step, from 1. 0: its step does not come.
	Step int
	// Round orders the evictions of all nodes of the Snapshot, from 1: the drains can send all evictions of a round without an
	// event between them, such as a pod becoming ready elsewhere. 0: none.
	Round int
	// After is the end of the limit of time without which the pod would not leave, a deadline or Escalation.DeleteAfter,
	// counted from the beginning, or the limit of the wait for WaitCompleted. 0: no limit.
	After time.Duration
	// Exemption is the cause of the verdict Skip. Empty: a rule skips the pod.
	Exemption Exemption
	// Reason, By and Message are the fields of the Blocker that a drain would show: at its end for Blocked, Stuck,
	// WaitCompleted and Recur, and for Skip by a rule; until then for EvictLater and Delete. They are empty if a pod only waits
	// for its step.
	Reason  Reason
	By      string
	Message string
	// LocalStorage are the emptyDir volumes of a pod that would leave: their content is lost.
	LocalStorage []string
	// Unmanaged: the pod would leave and no controller starts it again.
	Unmanaged bool
}

// Verdict is the predicted treatment of a pod.
type Verdict string

// The verdicts.
const (
	// EvictNow: the drain evicts the pod as soon as it begins.
	EvictNow Verdict = "Evict"
	// EvictLater: the drain evicts the pod in its step, or when its budget allows it again.
	EvictLater Verdict = "EvictLater"
	// DeleteLater: the drain deletes the pod and overrides its budgets, as the request's Escalation requests.
	DeleteLater Verdict = "Delete"
	// TakeAway: a process on the machine removes the manifest of the static pod when all other pods have left.
	TakeAway Verdict = "TakeAway"
	// AwaitCompletion: the drain waits until the pod has ended by itself, because of a rule.
	AwaitCompletion Verdict = "WaitCompleted"
	// Recur: after each eviction its DaemonSet starts the pod again on the node; after the third return, it stays.
	Recur Verdict = "Recur"
	// Ending: the pod is ending already.
	Ending Verdict = "Ending"
	// Stay: the pod stays, and the drain does not wait for it.
	Stay Verdict = "Skip"
	// Blocked: the pod does not leave, because of the Reason. It cannot unblock by itself.
	Blocked Verdict = "Blocked"
	// Behind: the pod waits for pods of earlier steps, which do not leave.
	Behind Verdict = "Behind"
	// Stuck: the drain evicts the pod, and its end is never confirmed, because of the Reason.
	Stuck Verdict = "Stuck"
)

// Exemption is the cause for which a drain leaves a pod without a rule about it.
type Exemption string

// The exemptions.
const (
	// StaticPod: the kubelet runs it from a file, and no target names such pods.
	StaticPod Exemption = "Static"
	// DaemonSetPod: its DaemonSet would start it again, and no target names such pods; or it is in OwnNamespace.
	DaemonSetPod Exemption = "DaemonSet"
	// NotTargeted: no target of the request covers the pod, or the request keeps it (KeepOwnPods).
	NotTargeted Exemption = "NotTargeted"
)

// Preview predicts drains of nodes that begin together at a time. It rehearses them: the very code of Drain
// decides, again and again, about a cluster in which
//
//   - the nodes are cordoned, and only the drains act;
//   - the server accepts the evictions that its budgets allow;
//   - evicted pods end within their time, if the node's kubelet reports or they had no running container;
//   - pods with WaitCompleted end by themselves;
//   - a replacement runs elsewhere and is as ready as the pod was, except for pods in Snapshot.Unreplaced.
//
// No responder acts there: Preview shows pods that a drain would leave to responders as evicted by the drain, in each
// Request.Mode.
//
// If a budget lets only some pods leave, their order is certain for one node. The order of several nodes is a matter of
// chance. Pods that recur and are the last of a node may stay after fewer evictions: the drain ends if none of them is
// present at its last look. Preview assumes detached volumes.
//
// It predicts these Reasons: the reasons of budgets (BudgetExhausted, BudgetImpossible, BudgetNotObserved,
// BudgetSyncFailed, MultipleBudgets), of pods and the request (UnmanagedPod, LocalStorage, WaitingForCompletion,
// Terminating, PodRecurring, PodSkipped, StaticPodStays, StaticPodLeft), RuleInvalid and NodeNotReady. It cannot predict:
//
//   - NodeNotCordoned, NodeTaintMissing: an administrator may uncordon the node while the drain runs.
//   - NodeGone: Preview needs the node.
//   - EvictionRefused, DeletionRefused, EvictionTimedOut, EvictionWithoutEffect: only an attempt shows the answers of admission
//     webhooks and the permissions.
//   - NamespaceTerminating: Snapshot has no namespaces.
//   - APIServerUnavailable, APIServerOverloaded, ReadRefused: the state of the server later.
//   - AwaitingResponder, ResponderMissing, RespondersFailed, EvictionAPIMissing: the answers of responders.
//   - Frozen: a Freeze may begin and end at any time.
//   - PodTimedOut, VolumeAttached: the times that pods take to end, and volumes to be detached.
//
// It returns an error if a Request is wrong, or a node is missing.
func Preview(s Snapshot, now time.Time) ([]Outlook, error) {
	r := &rehearsal{snapshot: s, began: now, now: now, round: 1, budgets: newForecast(s)}
	for _, n := range s.Nodes {
		if n.Node == nil {
			return nil, fmt.Errorf("drain: NodeSnapshot.Node is missing")
		}
		n.Request.NodeName = n.Node.Name
		if err := n.Request.validate(); err != nil {
			return nil, err
		}
		n.Request.Mode = ModeEviction
		r.add(n)
	}
	r.play()
	outlooks := make([]Outlook, 0, len(r.drains))
	for _, d := range r.drains {
		outlooks = append(outlooks, d.outlook())
	}
	return outlooks, nil
}

// outlook describes a rehearsed drain.
func (d *rehearsed) outlook() Outlook {
	steps := order(d.leaving, d.own)
	o := Outlook{Node: d.request.NodeName, Steps: len(steps)}
	must := map[types.UID]bool{}
	for i, step := range steps {
		from := len(o.Pods)
		for _, l := range step {
			must[l.pod.UID] = true
			p := d.leaves(l)
			p.Step = i + 1
			o.Pods = append(o.Pods, p)
		}
		slices.SortStableFunc(o.Pods[from:], comparePodOutlooks)
	}
	from := len(o.Pods)
	for _, pod := range d.found {
		if !must[pod.UID] {
			o.Pods = append(o.Pods, d.stays(pod))
		}
	}
	slices.SortStableFunc(o.Pods[from:], comparePodOutlooks)
	return o
}

// leaves describes a pod that must leave.
func (d *rehearsed) leaves(l leaver) PodOutlook {
	c := d.courses[l.pod.UID]
	p := PodOutlook{Pod: l.pod, Verdict: d.verdict(l, c), After: c.after, Round: c.round}
	switch p.Verdict {
	case AwaitCompletion:
		p.After = l.deadline
		p.because(c.last)
	case Recur:
		o := recurs(l.pod, metav1.GetControllerOfNoCopy(l.pod))
		p.Reason, p.By, p.Message = o.reason, o.by, o.message
	case Blocked, Stuck:
		p.because(cmp.Or(c.held, d.badRules(l.pod)))
	case EvictNow, Ending, Behind:
	default:
		p.because(c.last)
	}
	if (c.sent || p.Verdict == TakeAway) && !isFinished(l.pod) && p.Verdict != Recur {
		p.LocalStorage = localVolumes(l.pod)
		p.Unmanaged = isUnmanaged(l.pod)
	}
	return p
}

func (p *PodOutlook) because(b *Blocker) {
	if b != nil {
		p.Reason, p.By, p.Message = b.Reason, b.By, b.Message
	}
}

func (d *rehearsed) verdict(l leaver, c *course) Verdict {
	switch {
	case c.awaited:
		return AwaitCompletion
	case c.taken && c.ended:
		return TakeAway
	case c.sent && !c.ended:
		return Stuck
	case c.sent && typeOf(l.pod) == PodTypeDaemonSet:
		return Recur
	case c.sent && c.by == byDeletion:
		return DeleteLater
	case c.sent && c.round == 1:
		return EvictNow
	case c.sent:
		return EvictLater
	case c.ended:
		return Ending
	case c.held != nil || d.rulesBad[l.pod.Namespace]:
		return Blocked
	default:
		return Behind
	}
}

// badRules returns the blocker of the whole drain that keeps a pod because of rules that cannot be understood.
func (d *rehearsed) badRules(pod *corev1.Pod) *Blocker {
	for _, b := range d.status.Blockers {
		if b.Pod.Name == "" && b.By == rulesOf(pod.Namespace) {
			return &b
		}
	}
	return nil
}

// stays describes a pod that need not leave.
func (d *rehearsed) stays(pod *corev1.Pod) PodOutlook {
	p := PodOutlook{Pod: pod, Verdict: Stay, Exemption: exemption(pod, d.request, d.own)}
	for _, b := range d.status.Left {
		if p.Exemption == "" && b.Pod.Namespace == pod.Namespace && b.Pod.Name == pod.Name {
			p.because(&b)
		}
	}
	return p
}

func comparePodOutlooks(a, b PodOutlook) int {
	return cmp.Or(
		compareFlags(a.Round == 0, b.Round == 0),
		cmp.Compare(a.Round, b.Round),
		cmp.Compare(a.Exemption, b.Exemption),
		cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
	)
}
