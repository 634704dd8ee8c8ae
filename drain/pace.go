// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxInFlight bounds the evictions of one drain that are not answered yet. The server works on each for about 10 ms, so
// more would only queue there.
const maxInFlight = 16

// pacing is what pace decides.
type pacing struct {
	facts facts
	// sends are to be sent now.
	sends []send
	// holds say what holds each pod; nil if it only waits for its turn.
	holds map[types.UID]*obstacle
	// turns tell when the turn of each pod came, refusals since when its eviction has been refused. They go into the next
	// facts.
	turns    map[types.UID]time.Time
	refusals map[types.UID]time.Time
	// wake is when to look again, should nothing happen.
	wake time.Time
	// statics are static pods whose turn has come, and that a process on the machine takes away.
	statics []*corev1.Pod

	// named are the pods that are left to responders, and go into the next facts. fallen says why some are evicted all
	// the same, and left counts those that are not.
	named  map[types.UID]naming
	fallen map[types.UID]string
	left   int
	// namedComplete: which pods are left has been complete once, or is so now. idles are the pods to which somebody is to respond.
	namedComplete bool
	idles         map[types.UID]bool

	refused map[types.UID]*obstacle
	taken   map[types.UID]bool // budgets, by this pass
	free    int
	// awaitsRules: some are about to be read, and nothing is sent before.
	awaitsRules bool
}

// pace decides which of the pods may leave now, in their order, and what holds each of the others. A step begins when all
// pods of the step before it are gone, or have had their time. While rules are about to be read, nothing is sent and no turn
// comes, but what is known of the pods whose turn has come is kept.
func pace(steps [][]leaver, f facts) *pacing {
	p := &pacing{
		facts: f, holds: map[types.UID]*obstacle{}, turns: map[types.UID]time.Time{}, refusals: map[types.UID]time.Time{},
		named: map[types.UID]naming{}, fallen: map[types.UID]string{}, idles: map[types.UID]bool{},
		refused: map[types.UID]*obstacle{}, taken: map[types.UID]bool{}, free: maxInFlight - f.inFlight,
	}
	for _, step := range steps {
		p.refuse(step)
	}
	if !f.node.mayEvict() {
		return p
	}
	p.keepNamed(steps)
	if len(p.refused) > 0 {
		return p // this time counts for no pod: turns begin anew
	}
	if p.awaitsRules = !f.rulesKnown(steps); p.awaitsRules {
		p.free = 0 // waiting is right, forgetting is not
	}
	for _, step := range steps {
		p.keepTurns(step)
	}
	for _, step := range steps {
		if isMirror(step[0].pod) && !isMirror(steps[0][0].pod) {
			break // static pods wait for all others, also for those that have had their time
		}
		if p.step(step) {
			break
		}
	}
	return p
}

// refuse records the pods that the request refuses to evict. Pods whose rules are about to be read come later, as a rule may
// skip them. Where the rules cannot be read, they count: nothing is evicted while there may be such a pod.
func (p *pacing) refuse(step []leaver) {
	no := refuse(step, p.facts.request)
	for _, l := range step {
		if o := no[l.pod.UID]; o != nil && !p.facts.awaitsRules(l.pod.Namespace) {
			p.refused[l.pod.UID], p.holds[l.pod.UID] = o, o
		}
	}
}

// keepTurns keeps when the turn of pods came, whether or not it is their turn now.
func (p *pacing) keepTurns(step []leaver) {
	for _, l := range step {
		if since, came := p.facts.turns[l.pod.UID]; came {
			p.turns[l.pod.UID] = since
		}
	}
}

// step looks at all pods of a step, and tells whether the next one has to wait for any of them.
func (p *pacing) step(step []leaver) (holds bool) {
	for _, l := range step {
		since, came := p.turns[l.pod.UID]
		switch {
		case p.facts.awaitsRules(l.pod.Namespace):
			continue // it is not known yet whether the pod leaves, and when
		case !came && p.awaitsRules:
			holds = true
			continue
		case !came:
			since = p.facts.now
			p.turns[l.pod.UID] = since
		}
		if !l.timedOut(since, p.facts.now) {
			holds = true
			if l.deadline > 0 {
				p.wake = earlier(p.wake, since.Add(l.deadline))
			}
		}
		s, hold, look := p.turn(l, since)
		p.holds[l.pod.UID] = p.explain(l, hold)
		p.wake = earlier(p.wake, look)
		if s != nil {
			p.send(*s)
		}
	}
	return holds
}

// send takes what the sending needs, or leaves it to a later pass.
func (p *pacing) send(s send) {
	if p.free == 0 || s.budget != nil && p.taken[s.budget.UID] {
		return
	}
	if s.budget != nil {
		p.taken[s.budget.UID] = true
	}
	p.free--
	p.sends = append(p.sends, s)
}

// sendsFor reports whether something is to be sent for a pod.
func (p *pacing) sendsFor(pod types.UID) bool {
	return slices.ContainsFunc(p.sends, func(s send) bool { return s.pod.UID == pod })
}

// turn decides about one pod whose turn has come, as if it were the only one.
func (p *pacing) turn(l leaver, since time.Time) (s *send, hold *obstacle, wake time.Time) {
	f, t := p.facts, p.facts.tries[l.pod.UID]
	switch {
	case isMirror(l.pod):
		hold, wake = p.takeAway(l, since)
		return nil, hold, wake
	case isTerminating(l.pod):
		return p.whileTerminating(l, t)
	case t.inFlight:
		if since, known := f.refusals[l.pod.UID]; known && !f.unheard[l.pod.Namespace] {
			p.refusals[l.pod.UID] = since
		}
		return nil, t.standing(), time.Time{}
	case f.now.Before(f.brake.until):
		return nil, t.standing(), f.brake.until
	case f.unruled(l.pod.Namespace):
		return nil, nil, time.Time{}
	case l.waits(since, f.now):
		return nil, completion(l), time.Time{}
	}
	if left, hold, wake := p.leave(l); left {
		if _, named := p.named[l.pod.UID]; named {
			p.left++
		}
		return nil, hold, wake
	}
	s, hold, wake = p.evict(l, t)
	p.nameImpossible(l, hold)
	if !f.isRefused(l, hold) {
		return s, hold, wake
	}
	due, at := mayDelete(f.request.Escalation, p.keepRefusal(l), f.now)
	switch {
	case due && p.awaitsRules:
		return nil, hold, wake
	case due:
		return forced(l, byDeletion, t, f.now)
	}
	return s, hold, earlier(wake, at)
}

// isRefused reports whether what holds a pod counts for Escalation.DeleteAfter. An eviction that is not answered has not been
// refused, and a budget that was closed when it could be read last may have opened meanwhile.
func (f facts) isRefused(l leaver, hold *obstacle) bool {
	return hold != nil && hold.reason != EvictionTimedOut && !f.unheard[l.pod.Namespace]
}

// keepRefusal records that the eviction of a pod is refused, and returns since when it is without a break.
func (p *pacing) keepRefusal(l leaver) time.Time {
	since, known := p.facts.refusals[l.pod.UID]
	if !known {
		since = p.facts.now
	}
	p.refusals[l.pod.UID] = since
	return since
}

// evict decides whether the server would accept the eviction of a pod.
func (p *pacing) evict(l leaver, t try) (s *send, hold *obstacle, wake time.Time) {
	f, pod := p.facts, l.pod
	known, ok := f.budgets[pod.Namespace]
	if !ok {
		return nil, nil, time.Time{}
	}
	of := f.guards[pod.UID]
	if f.guards == nil {
		of = guards(pod, known)
	}
	if t.holds(stampOf(pod, of), f.now) {
		return nil, t.refusal, t.notBefore
	}
	a := admit(pod, of)
	if a.refusal != nil {
		return nil, a.refusal, time.Time{}
	}
	if a.budget != nil {
		if until, busy := f.reserved[a.budget.UID]; busy {
			return nil, t.standing(), until
		}
	}
	return &send{pod: pod, guards: of, budget: a.budget, counts: a.counts}, t.standing(), time.Time{}
}

// whileTerminating: a second eviction would change nothing, only a shorter grace period would.
func (p *pacing) whileTerminating(l leaver, t try) (s *send, hold *obstacle, wake time.Time) {
	due, at := mayKill(l.pod, p.facts.request.Escalation, p.facts.ahead, p.facts.now)
	switch {
	case !due:
		return nil, nil, at
	case t.inFlight:
		return nil, t.standing(), time.Time{}
	case p.facts.now.Before(p.facts.brake.until):
		return nil, t.standing(), p.facts.brake.until
	}
	return forced(l, byKill, t, p.facts.now)
}

// forced is a deletion. What became of an earlier deletion holds it; what became of evictions does not.
func forced(l leaver, by means, t try, now time.Time) (s *send, hold *obstacle, wake time.Time) {
	if t.by == by && now.Before(t.notBefore) {
		return nil, t.refusal, t.notBefore
	}
	return &send{pod: l.pod, by: by}, t.standing(), time.Time{}
}

func completion(l leaver) *obstacle {
	limit := "as long as that takes"
	if l.deadline > 0 {
		limit = fmt.Sprintf("for %s at most", l.deadline)
	}
	return &obstacle{WaitingForCompletion, l.rule, WaitingForCompletion.advise(fmt.Sprintf("rule %s wants the drain to wait until the "+
		"pod has ended by itself, %s", l.rule, limit))}
}

// mayEvict reports whether a pod that is evicted now has no way back to this node through the scheduler.
func (n nodeFacts) mayEvict() bool {
	return n.known && n.exists && n.unschedulable
}

// rulesKnown reports whether nothing that is about to be read can change who leaves first.
func (f facts) rulesKnown(steps [][]leaver) bool {
	for _, step := range steps {
		for _, l := range step {
			if f.awaitsRules(l.pod.Namespace) {
				return false
			}
		}
	}
	return true
}

// awaitsRules reports whether the rules of a namespace are about to be read.
func (f facts) awaitsRules(namespace string) bool {
	return f.unruled(namespace) && !f.rulesBad[namespace]
}

// unruled reports whether the rules of a namespace are not known, so that its pods stay until they are.
func (f facts) unruled(namespace string) bool {
	_, known := f.rules[namespace]
	return f.ruled && !known
}

// means is how a pod is asked to leave.
type means int

const (
	// byEviction asks, and the server refuses where a budget does.
	byEviction means = iota
	// byDeletion asks no budget.
	byDeletion
	// byKill shortens the grace period of a pod that is being deleted to a second.
	byKill
)

// mayDelete reports whether the request wants a pod deleted now whose eviction has been refused since then; if not now,
// then when.
func mayDelete(e Escalation, refusedSince, now time.Time) (bool, time.Time) {
	if e.DeleteAfter == 0 {
		return false, time.Time{}
	}
	due := refusedSince.Add(e.DeleteAfter)
	return !now.Before(due), due
}

// mayKill does the same for a pod that is terminating, ahead by which the server's clock is that has dated its end.
func mayKill(pod *corev1.Pod, e Escalation, ahead time.Duration, now time.Time) (bool, time.Time) {
	grace := pod.DeletionGracePeriodSeconds
	if e.KillAfter == 0 || grace == nil || *grace <= 1 {
		return false, time.Time{}
	}
	began := pod.DeletionTimestamp.Add(-ahead - time.Duration(*grace)*time.Second)
	due := began.Add(e.KillAfter)
	return !now.Before(due), due
}
