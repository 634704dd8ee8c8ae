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

// Snapshot is a cluster at one moment, as far as a drain of some of its nodes looks at it.
type Snapshot struct {
	// Nodes are those that are drained, at the same time.
	Nodes []NodeSnapshot
	// Budgets are all of the namespaces that the pods are in, by namespace.
	Budgets map[string][]*policyv1.PodDisruptionBudget
	// Rules are those for the pods of a namespace, by namespace.
	Rules map[string][]Rule
	// BadRules say which namespaces have rules that cannot be understood, and why: the pods there stay.
	BadRules map[string]error
	// OwnNamespace is what it is in Config.
	OwnNamespace string
	// StaticPods is what it is in Config.
	StaticPods func(*corev1.Node, *corev1.Pod) Removal
	// Unreplaced are pods whose replacements will not become ready, because they fit nowhere. Those of other pods that have
	// a controller are taken to become as ready as the pods are.
	Unreplaced map[types.UID]bool
}

// NodeSnapshot is one node that is drained.
type NodeSnapshot struct {
	// Node is required.
	Node *corev1.Node
	// Pods are those bound to the node. Others are ignored.
	Pods []*corev1.Pod
	// Request says how it is drained. Its NodeName is that of Node.
	Request Request
}

// Outlook is what a drain of a node would do.
type Outlook struct {
	// Node is its name.
	Node string
	// Steps counts the steps in which its pods leave.
	Steps int
	// Pods are all pods of the node: first those that must leave, in the order in which they do, then the others.
	Pods []PodOutlook
}

// PodOutlook is what a drain would do with a pod.
type PodOutlook struct {
	Pod *corev1.Pod
	// Verdict is what would become of it.
	Verdict Verdict
	// Step is the step in which the pod's turn comes, from 1. 0: it has none.
	Step int
	// Round orders the evictions of all nodes of the Snapshot, from 1: those of one round can all be sent before anything
	// has to happen, such as a pod becoming ready elsewhere. 0: none is sent.
	Round int
	// After is how long after the beginning a limit of time is over without which the pod would not leave: a deadline, or
	// Escalation.DeleteAfter. For WaitCompleted it is how long the drain waits. 0: there is no such limit.
	After time.Duration
	// Exemption is why a pod is left, for Skip. Empty: a rule skips it.
	Exemption Exemption
	// Reason, By and Message are those of the Blocker that a drain would show: for Blocked, Stuck, WaitCompleted and Recur
	// at its end, for Skip by a rule, and for EvictLater and Delete until then. They are empty where a pod only waits for
	// its step.
	Reason  Reason
	By      string
	Message string
	// LocalStorage are the emptyDir volumes of a pod that would leave: their content is lost.
	LocalStorage []string
	// Unmanaged tells that the pod would leave and that nobody starts it again.
	Unmanaged bool
}

// Verdict is what would become of a pod.
type Verdict string

// The verdicts.
const (
	// EvictNow: the pod is evicted as soon as the drain begins.
	EvictNow Verdict = "Evict"
	// EvictLater: the pod is evicted when it is its step's turn, or its budget allows it again.
	EvictLater Verdict = "EvictLater"
	// DeleteLater: the pod is deleted past its budgets, as the request's Escalation asks for.
	DeleteLater Verdict = "Delete"
	// TakeAway: the pod is a static one, whose manifest somebody takes away when all others have left.
	TakeAway Verdict = "TakeAway"
	// AwaitCompletion: the drain waits until the pod has ended by itself, as a rule asks for.
	AwaitCompletion Verdict = "WaitCompleted"
	// Recur: the pod is evicted, its DaemonSet starts it again on the node, and when that has happened three times, it
	// stays.
	Recur Verdict = "Recur"
	// Ending: the pod is ending already.
	Ending Verdict = "Ending"
	// Stay: the pod is left, and the drain does not wait for it.
	Stay Verdict = "Skip"
	// Blocked: the pod does not leave, for the Reason. Somebody has to do something.
	Blocked Verdict = "Blocked"
	// Behind: the pod does not get its turn, because pods that leave before it do not leave.
	Behind Verdict = "Behind"
	// Stuck: the pod is evicted and nobody confirms its end, for the Reason.
	Stuck Verdict = "Stuck"
)

// Exemption is why a drain leaves a pod that no rule speaks of.
type Exemption string

// The exemptions.
const (
	// StaticPod: the kubelet runs it from a file, and no target names such pods.
	StaticPod Exemption = "Static"
	// DaemonSetPod: its DaemonSet would start it again, and no target names such pods; or it is of those who drain.
	DaemonSetPod Exemption = "DaemonSet"
	// NotTargeted: no target of the request covers the pod, or the request keeps it (KeepOwnPods).
	NotTargeted Exemption = "NotTargeted"
)

// Preview says what drains of nodes would do, beginning together at a time. It rehearses them: the very code of Drain
// decides, again and again, about a cluster in which
//
//   - the nodes are cordoned, and nobody but the drains does anything;
//   - the server accepts the evictions that its budgets allow;
//   - pods that are evicted end, if the node's kubelet reports or they had nothing left to end, and within their time;
//   - pods that are waited for end by themselves;
//   - a replacement runs elsewhere and is as ready as the pod was, but for those in Snapshot.Unreplaced.
//
// Nobody responds to Evictions there: pods that would be left to responders are shown as if the drain evicted them, whatever
// Request.Mode says.
//
// Where a budget lets only some pods go, which of them goes first is sure for one node. Between nodes it is a matter of
// chance. Pods that recur and are the last of a node may be left after fewer evictions: the drain is over if none of them is
// there when it looks. Volumes are taken to be detached.
//
// So of the Reasons, these are predicted: those of budgets (BudgetExhausted, BudgetImpossible, BudgetNotObserved,
// BudgetSyncFailed, MultipleBudgets), of pods and what is asked for (UnmanagedPod, LocalStorage, WaitingForCompletion,
// Terminating, PodRecurring, PodSkipped, StaticPodStays, StaticPodLeft), RuleInvalid and NodeNotReady. These are not:
//
//   - NodeNotCordoned, NodeTaintMissing: somebody takes the cordon away while the drain runs.
//   - NodeGone: there is no such node to look at.
//   - EvictionRefused, DeletionRefused, EvictionTimedOut, EvictionWithoutEffect: what admission webhooks and the rights of
//     who drains let through is known when it is tried.
//   - NamespaceTerminating: Snapshot says nothing of namespaces.
//   - APIServerUnavailable, APIServerOverloaded, ReadRefused: how the server is then, and to whom it answers.
//   - AwaitingResponder, ResponderMissing, RespondersFailed, EvictionAPIMissing: who responds is known when it is asked.
//   - PodTimedOut, VolumeAttached: how long pods take to end, and volumes to be detached.
//
// An error says that a Request is wrong, or that a node is missing.
func Preview(s Snapshot, now time.Time) ([]Outlook, error) {
	r := newRehearsal(s, now)
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

// outlook is what a drain that was rehearsed has done.
func (d *rehearsed) outlook() Outlook {
	steps := order(d.leaving, d.own)
	o := Outlook{Node: d.request.NodeName, Steps: len(steps)}
	must := map[types.UID]bool{}
	for i, step := range steps {
		from := len(o.Pods)
		for _, l := range step {
			must[l.pod.UID] = true
			p := d.courseOf(l)
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

// courseOf is what has become of a pod that must leave.
func (d *rehearsed) courseOf(l leaver) PodOutlook {
	c := d.courses[l.pod.UID]
	p := PodOutlook{Pod: l.pod, Verdict: d.verdict(l, c), After: c.after, Round: c.round}
	if p.Verdict == Blocked || p.Verdict == Stuck {
		c.held = d.holding(l.pod)
	}
	if c.held != nil && p.Verdict != EvictNow && p.Verdict != Ending && p.Verdict != Behind {
		p.Reason, p.By, p.Message = c.held.Reason, c.held.By, c.held.Message
	}
	switch p.Verdict {
	case AwaitCompletion:
		p.After = l.deadline
	case Recur:
		o := recurs(l.pod, metav1.GetControllerOfNoCopy(l.pod))
		p.Reason, p.By, p.Message = o.reason, o.by, o.message
	case Blocked:
		d.explainRules(&p)
	default:
	}
	if (c.sent || p.Verdict == TakeAway) && !isFinished(l.pod) && p.Verdict != Recur {
		p.LocalStorage = localVolumes(l.pod)
		p.Unmanaged = isUnmanaged(l.pod)
	}
	return p
}

func (d *rehearsed) verdict(l leaver, c course) Verdict {
	remains := slices.ContainsFunc(d.pods, func(p *corev1.Pod) bool { return p.UID == l.pod.UID })
	switch {
	case c.awaited:
		return AwaitCompletion
	case c.taken && !remains:
		return TakeAway
	case c.sent && remains:
		return Stuck
	case c.sent && typeOf(l.pod) == PodTypeDaemonSet:
		return Recur
	case c.sent && c.by == byDeletion:
		return DeleteLater
	case c.sent && c.round == 1:
		return EvictNow
	case c.sent:
		return EvictLater
	case !remains:
		return Ending
	case d.holding(l.pod) != nil || d.rulesBad[l.pod.Namespace]:
		return Blocked
	default:
		return Behind
	}
}

// explainRules gives pods that stay because of rules that cannot be understood what the drain as a whole says.
func (d *rehearsed) explainRules(p *PodOutlook) {
	if p.Reason != "" {
		return
	}
	for _, o := range d.reading {
		if o.by == rulesOf(p.Pod.Namespace) {
			p.Reason, p.By, p.Message = o.reason, o.by, o.message
		}
	}
}

// stays is a pod that need not leave.
func (d *rehearsed) stays(pod *corev1.Pod) PodOutlook {
	p := PodOutlook{Pod: pod, Verdict: Stay, Exemption: exemption(pod, d.request, d.own)}
	if p.Exemption != "" {
		return p
	}
	for _, b := range d.status.Left {
		if b.Pod.Namespace == pod.Namespace && b.Pod.Name == pod.Name {
			p.Reason, p.By, p.Message = b.Reason, b.By, b.Message
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
