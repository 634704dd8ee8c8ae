// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// group is the pods of errands whose evictions depend on each other: those that share a budget. A pod that no budget
// holds, or several, is a group by itself.
type group struct {
	// key is the UID of the budget, or that of the only pod.
	key     types.UID
	ground  *ground
	members []*errand // by UID
	guards  []*budget
	since   map[blockerKey]time.Time
	queued  bool
	// wake is when to decide again, even if nothing happens; rests is until when it can wait, even if something does.
	wake, rests time.Time
}

func (g *ground) group(key types.UID) *group {
	of := g.groups[key]
	if of == nil {
		of = &group{key: key, ground: g}
		g.groups[key] = of
	}
	return of
}

func (g *group) find(uid types.UID) (int, bool) {
	return slices.BinarySearchFunc(g.members, uid, func(e *errand, uid types.UID) int { return cmp.Compare(e.uid, uid) })
}

func (g *group) add(e *errand) {
	if i, found := g.find(e.uid); !found {
		g.members = slices.Insert(g.members, i, e)
	}
}

func (g *group) remove(e *errand) {
	if i, found := g.find(e.uid); found {
		g.members = slices.Delete(g.members, i, i+1)
	}
}

// budget is the one whose slot the group needs. Nil: it needs none.
func (g *group) budget() *budget { return g.ground.budgets[g.key] }

// grouped is what is decided about a group.
type grouped struct {
	sends []send
	// blockers are what holds each pod, in their order. Without a Reason, nothing does.
	blockers []Blocker
	since    map[blockerKey]time.Time
	wake     time.Time
}

// decideGroup is the whole of the thinking about a group. Between its pods there is no order but that of UIDs, which is
// the same each time: where a budget allows one pod to go, each pass must pick the same one.
func decideGroup(f facts) grouped {
	p := &pacing{facts: f, taken: map[types.UID]bool{}, free: maxInFlight}
	s := &summary{facts: f, since: map[blockerKey]time.Time{}}
	d := grouped{blockers: make([]Blocker, len(f.pods))}
	for i, pod := range f.pods {
		hold, wake := p.errand(s, pod)
		d.wake = earlier(d.wake, wake)
		if hold != nil {
			d.blockers[i] = s.blocker(pod, *hold)
		}
	}
	d.sends, d.since = p.sends, s.since
	return d
}

// errand decides about one pod, and says what holds it.
func (p *pacing) errand(s *summary, pod *corev1.Pod) (hold *obstacle, wake time.Time) {
	l := leaver{pod, treatment{behavior: Evict}}
	t, f := p.facts.tries[pod.UID], p.facts
	switch {
	case isTerminating(pod):
		return s.ending(l, nil)
	case t.inFlight:
		return cmp.Or(t.standing(), f.brake.obstacle), time.Time{}
	case f.now.Before(f.brake.until):
		return cmp.Or(t.standing(), f.brake.obstacle), f.brake.until
	}
	send, hold, wake := p.evict(l, t)
	if send != nil {
		p.send(*send)
	}
	return hold, wake
}

// decide lets a group decide, sends what it wants to send, and tells the callers.
func (l *errandLoop) decide(g *group) {
	f := l.factsOf(g)
	d := decideGroup(f)
	g.since, g.wake = d.since, time.Time{}
	if n := len(g.members); n > crowd {
		g.rests = f.now.Add(time.Duration(n) * restPerPod)
	}
	barred := len(f.slots) > 0
	for _, s := range d.sends {
		barred = barred || s.budget != nil // by what is sent now, or by somebody who was faster
		if _, free := l.reserve(s); !free {
			continue
		}
		e := l.find(s.pod.UID)
		l.sent(s)
		l.carry(e.live, e.wire, s)
	}
	for i, e := range g.members {
		d.wake = earlier(d.wake, l.tell(e, d.blockers[i], f.now))
	}
	l.alarms.set(g, d.wake)
	delete(l.barred, g)
	if barred {
		l.barred[g] = struct{}{}
	}
}

// factsOf gathers what a decision about the group is made from. No node is looked at, so nothing is said against any. How
// many evictions are in flight is the loop's affair.
func (l *errandLoop) factsOf(g *group) facts {
	f := facts{
		now: l.d.config.Clock.Now(), node: nodeFacts{ready: true}, pods: make([]*corev1.Pod, len(g.members)),
		budgets: map[string][]*budget{}, slots: map[types.UID]time.Time{}, tries: l.tries, brake: l.brake, since: g.since,
	}
	for i, e := range g.members {
		f.pods[i] = e.seen
	}
	if b := g.budget(); b != nil {
		g.guards = []*budget{b}
	}
	if g.ground.known {
		f.budgets[g.ground.namespace] = g.guards
	}
	if until, busy := l.slotOf(g); busy {
		f.slots[g.key] = until
	}
	return f
}

// slotOf asks for the slot of the group's budget, and has the loop woken when that changes.
func (l *errandLoop) slotOf(g *group) (until time.Time, busy bool) {
	b := g.budget()
	if b == nil {
		return time.Time{}, false
	}
	return l.d.ledger.busy(b, l.wake)
}
