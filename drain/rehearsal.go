// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// rehearsal runs drains without a cluster: it applies their decisions to a copy of the snapshot, which then behaves as a calm
// cluster.
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
	// found are the pods at the beginning, pods the remaining pods.
	found, pods []*corev1.Pod
	rules       map[string][]Rule
	rulesBad    map[string]bool
	reading     []obstacle
	courses     map[types.UID]*course
	leaving     []leaver
	// status and wake belong to the last decision.
	status Status
	wake   time.Time
}

// course is the treatment of a pod so far.
type course struct {
	sent  bool
	by    means
	round int
	after time.Duration
	// taken: the pod is static, and its manifest was removed.
	taken bool
	// awaited: the drain has waited until the pod ended by itself.
	awaited bool
	ended   bool
	// kept: the pod was overdue when the drain began, because of its finalizers.
	kept bool
	// held is the blocker in the last decision, last the latest blocker of all decisions. Nil: none.
	held, last *Blocker
}

func (r *rehearsal) add(n NodeSnapshot) {
	d := &rehearsed{
		memory: newMemory(), request: n.Request, own: r.snapshot.OwnNamespace, node: nodeFactsOf(n.Node),
		found: scope(n.Node.Name, n.Pods), rules: map[string][]Rule{}, rulesBad: map[string]bool{}, courses: map[types.UID]*course{},
	}
	d.statics = staticsOf(n.Node, d.found, r.snapshot.StaticPods)
	d.node.unschedulable, d.node.tainted, d.node.attached = true, true, nil
	d.pods = slices.Clone(d.found)
	for _, pod := range d.found {
		kept := isTerminating(pod) && len(pod.Finalizers) > 0 && !r.now.Before(pod.DeletionTimestamp.Add(overdueAfter))
		d.courses[pod.UID] = &course{kept: kept}
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

// play continues until no drain acts any longer. It ends: each pod is evicted, completed and ended once, and each limit of time
// passes once.
func (r *rehearsal) play() {
	for {
		sent := r.decideAll()
		if !r.settle() && !sent && !r.complete() && !r.advance() {
			return
		}
		r.round++
	}
}

// decideAll lets the drains send all requests that need no event before them, and reports whether they sent one.
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
	held := map[types.NamespacedName]*Blocker{}
	for i, b := range p.status.Blockers {
		held[b.Pod] = &p.status.Blockers[i]
	}
	for _, pod := range d.pods {
		c := d.courses[pod.UID]
		if c.held = held[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]; c.held != nil {
			c.last = c.held
		}
	}
	return p.evict
}

func (d *rehearsed) facts(r *rehearsal) facts {
	return facts{
		now: r.now, nodeName: d.request.NodeName, request: d.request, own: d.own, node: d.node,
		podsKnown: true, pods: d.pods, statics: d.statics, budgets: r.budgets.by,
		ruled: true, rules: d.rules, rulesBad: d.rulesBad, reading: d.reading, responders: Responders{Known: true}, memory: d.memory,
	}
}

// takeAway removes the manifests of static pods whose removal is due, and reports whether there were any.
func (d *rehearsed) takeAway(r *rehearsal) (taken bool) {
	for _, pod := range d.status.Static {
		if c := d.courses[pod.UID]; !c.taken && d.statics[pod.UID].Trouble == "" {
			c.taken, c.round, c.after = true, r.round, r.now.Sub(r.began)
			taken = true
		}
	}
	return taken
}

// accept applies a request, as the server would.
func (r *rehearsal) accept(d *rehearsed, s send) {
	grace := graceOf(s.pod)
	if d.request.GracePeriodSeconds != nil {
		grace = *d.request.GracePeriodSeconds
	}
	if s.by == byKill {
		grace = 1
	} else {
		c := d.courses[s.pod.UID]
		c.sent, c.by, c.round, c.after = true, s.by, r.round, r.now.Sub(r.began)
		r.budgets.leaves(s.pod, !r.snapshot.Unreplaced[s.pod.UID])
	}
	pod := s.pod.DeepCopy()
	pod.DeletionTimestamp = &metav1.Time{Time: r.now.Add(time.Duration(grace) * time.Second)}
	pod.DeletionGracePeriodSeconds = &grace
	d.pods[slices.IndexFunc(d.pods, func(p *corev1.Pod) bool { return p.UID == pod.UID })] = pod
}

// settle lets pods end and their replacements become ready, and reports whether a pod has ended.
func (r *rehearsal) settle() (ended bool) {
	r.budgets.settle()
	for _, d := range r.drains {
		ended = d.remove(r.budgets.ended, func(pod *corev1.Pod, c *course) bool {
			if isMirror(pod) {
				return c.taken && d.node.ready
			}
			// The kubelet confirms the end, or the server itself for a pod without running containers when it was evicted. For a pod
			// that finalizers keep since before the drain, no deletion has an effect.
			confirmed := !c.kept && (d.node.ready || isFinished(pod) && c.sent)
			return isTerminating(pod) && confirmed && r.now.Before(pod.DeletionTimestamp.Add(overdueAfter))
		}) || ended
	}
	return ended
}

// complete ends the pods whose completion the drains wait for, and reports whether there were any.
func (r *rehearsal) complete() (ended bool) {
	for _, d := range r.drains {
		ended = d.remove(r.budgets.completed, func(_ *corev1.Pod, c *course) bool {
			c.awaited = c.held != nil && c.held.Reason == WaitingForCompletion && d.node.ready
			return c.awaited
		}) || ended
	}
	return ended
}

// remove ends pods, and reports whether there were any.
func (d *rehearsed) remove(count func(*corev1.Pod), ends func(*corev1.Pod, *course) bool) bool {
	before := len(d.pods)
	d.pods = slices.DeleteFunc(d.pods, func(pod *corev1.Pod) bool {
		c := d.courses[pod.UID]
		if c.ended = ends(pod, c); c.ended {
			count(pod)
		}
		return c.ended
	})
	return len(d.pods) < before
}

// advance moves the time to the next decision of a drain, and reports whether there is one.
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
