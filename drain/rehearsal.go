// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rehearsal plays drains through without a cluster: what they decide is done to a copy of the snapshot, which then does
// what a calm cluster would.
type rehearsal struct {
	snapshot   Snapshot
	began, now time.Time
	round      int
	drains     []*rehearsed
	budgets    *forecast
}

// rehearsed is the drain of one node.
type rehearsed struct {
	memory
	request Request
	own     string
	node    nodeFacts
	statics map[types.UID]Removal
	// found are the pods at the beginning, pods those that are left.
	found, pods []*corev1.Pod
	rules       map[string][]Rule
	rulesBad    map[string]bool
	reading     []obstacle
	courses     map[types.UID]course
	// kept are pods that were overdue when the drain began, because of their finalizers.
	kept    map[types.UID]bool
	leaving []leaver
	// status, held and wake are those of the last decision.
	status Status
	held   map[types.NamespacedName]*Blocker
	wake   time.Time
}

// course is what has become of a pod.
type course struct {
	sent  bool
	by    means
	round int
	after time.Duration
	// taken: the pod is static, and its manifest was taken away.
	taken bool
	// awaited: the drain has waited until it ended by itself.
	awaited bool
	// held is the last thing that held it. Nil: nothing did.
	held *Blocker
}

func newRehearsal(s Snapshot, now time.Time) *rehearsal {
	return &rehearsal{snapshot: s, began: now, now: now, round: 1, budgets: newForecast(s)}
}

func (r *rehearsal) add(n NodeSnapshot) {
	d := &rehearsed{
		memory: newMemory(), request: n.Request, own: r.snapshot.OwnNamespace, node: nodeFactsOf(n.Node),
		found: scope(n.Node.Name, n.Pods), rules: map[string][]Rule{}, rulesBad: map[string]bool{},
		courses: map[types.UID]course{}, kept: map[types.UID]bool{},
	}
	d.statics = staticsOf(n.Node, d.found, r.snapshot.StaticPods)
	d.node.unschedulable, d.node.tainted, d.node.attached = true, true, nil
	d.pods = slices.Clone(d.found)
	for _, pod := range d.found {
		d.kept[pod.UID] = isTerminating(pod) && len(pod.Finalizers) > 0 && !r.now.Before(pod.DeletionTimestamp.Add(overdueAfter))
	}
	for _, pod := range covered(d.found, n.Request, d.own) {
		namespace := pod.Namespace
		err, bad := r.snapshot.BadRules[namespace]
		if bad && !d.rulesBad[namespace] {
			d.rulesBad[namespace] = true
			d.reading = append(d.reading, *unreadable(rulesOf(namespace), err))
		}
		if !bad {
			d.rules[namespace] = r.snapshot.Rules[namespace]
		}
	}
	f := d.facts(r)
	d.leaving, _ = filter(f.pods, f)
	r.drains = append(r.drains, d)
}

// play goes on until nothing happens any more. It ends: each pod is sent away, completed and ended once, and each limit of
// time passes once.
func (r *rehearsal) play() {
	for {
		sent := r.decideAll()
		switch {
		case r.settle() || sent:
			r.round++
		case r.complete() || r.advance():
			r.round++
		default:
			return
		}
	}
}

// decideAll lets the drains send all that can be sent before anything else happens, and tells whether that is anything.
func (r *rehearsal) decideAll() (sent bool) {
	for again := true; again; sent = sent || again {
		again = false
		for _, d := range r.drains {
			for _, s := range d.decide(r) {
				r.accept(d, s)
				again = true
			}
			again = d.takeAway(r) || again
		}
	}
	return sent
}

func (d *rehearsed) decide(r *rehearsal) []send {
	p := decide(d.facts(r))
	d.keep(p.notes)
	d.status, d.wake = p.status, p.wake
	d.held = map[types.NamespacedName]*Blocker{}
	for i, b := range p.status.Blockers {
		d.held[b.Pod] = &p.status.Blockers[i]
	}
	for _, pod := range d.pods {
		if b := d.holding(pod); b != nil {
			c := d.courses[pod.UID]
			c.held = b
			d.courses[pod.UID] = c
		}
	}
	return p.evict
}

// holding is what held a pod at the last decision.
func (d *rehearsed) holding(pod *corev1.Pod) *Blocker {
	return d.held[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
}

func (d *rehearsed) facts(r *rehearsal) facts {
	f := facts{
		now: r.now, nodeName: d.request.NodeName, request: d.request, own: d.own, node: d.node,
		podsKnown: true, pods: d.pods, statics: d.statics, budgets: r.budgets.by,
		ruled: true, rules: d.rules, rulesBad: d.rulesBad, reading: d.reading, responders: Responders{Known: true},
	}
	d.fill(&f)
	return f
}

// takeAway has somebody take away the static pods whose turn has come, and tells whether there were any.
func (d *rehearsed) takeAway(r *rehearsal) (taken bool) {
	for _, pod := range d.status.Static {
		c := d.courses[pod.UID]
		if c.taken || d.statics[pod.UID].Trouble != "" {
			continue
		}
		c.taken, c.round, c.after = true, r.round, r.now.Sub(r.began)
		d.courses[pod.UID] = c
		taken = true
	}
	return taken
}

// accept is what the server does with what a drain sends.
func (r *rehearsal) accept(d *rehearsed, s send) {
	c := d.courses[s.pod.UID]
	if s.by != byKill {
		c.sent, c.by, c.round, c.after = true, s.by, r.round, r.now.Sub(r.began)
		r.budgets.leaves(s.pod, !r.snapshot.Unreplaced[s.pod.UID])
	}
	d.courses[s.pod.UID] = c
	d.replace(s.pod, r.terminating(s.pod, s.by, d.request))
}

func (r *rehearsal) terminating(pod *corev1.Pod, by means, request Request) *corev1.Pod {
	grace := int64(corev1.DefaultTerminationGracePeriodSeconds)
	switch {
	case by == byKill:
		grace = 1
	case request.GracePeriodSeconds != nil:
		grace = *request.GracePeriodSeconds
	case pod.Spec.TerminationGracePeriodSeconds != nil:
		grace = *pod.Spec.TerminationGracePeriodSeconds
	}
	pod = pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: r.now.Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	return pod
}

func (d *rehearsed) replace(old, pod *corev1.Pod) {
	d.pods[slices.IndexFunc(d.pods, func(p *corev1.Pod) bool { return p.UID == old.UID })] = pod
}

// settle lets pods end and their replacements become ready, and tells whether a pod has ended.
func (r *rehearsal) settle() (ended bool) {
	r.budgets.settle()
	for _, d := range r.drains {
		ended = d.remove(func(pod *corev1.Pod) bool {
			ends := d.courses[pod.UID].taken && d.node.ready || !isMirror(pod) && isTerminating(pod) && d.confirms(pod) && r.now.Before(pod.DeletionTimestamp.Add(overdueAfter))
			if ends {
				r.budgets.ended(pod)
			}
			return ends
		}) || ended
	}
	return ended
}

// confirms reports whether somebody says that a pod has ended: its kubelet, or the server itself for a pod that had nothing
// left to end when it was sent away. Nobody does of one that finalizers keep since before the drain, however often it is
// deleted.
func (d *rehearsed) confirms(pod *corev1.Pod) bool {
	if d.kept[pod.UID] {
		return false
	}
	return d.node.ready || isFinished(pod) && d.courses[pod.UID].sent
}

// complete lets the pods end whose completion is waited for, and tells whether there were any.
func (r *rehearsal) complete() (ended bool) {
	for _, d := range r.drains {
		ended = d.remove(func(pod *corev1.Pod) bool {
			if b := d.holding(pod); b == nil || b.Reason != WaitingForCompletion || !d.node.ready {
				return false
			}
			c := d.courses[pod.UID]
			c.awaited = true
			d.courses[pod.UID] = c
			r.budgets.completed(pod)
			return true
		}) || ended
	}
	return ended
}

func (d *rehearsed) remove(is func(*corev1.Pod) bool) bool {
	before := len(d.pods)
	d.pods = slices.DeleteFunc(d.pods, is)
	return len(d.pods) < before
}

// advance moves the time to when one of the drains looks again, and tells whether one does.
func (r *rehearsal) advance() bool {
	var next time.Time
	for _, d := range r.drains {
		if d.wake.After(r.now) {
			next = earlier(next, d.wake)
		}
	}
	if next.IsZero() {
		return false
	}
	r.now = next
	return true
}
