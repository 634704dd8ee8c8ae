// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxInFlight limits the unanswered evictions of one drain. The server works on each for about 10 ms, so more evictions would
// only queue there.
const maxInFlight = 16

// pacing is the result of pace.
type pacing struct {
	facts facts
	// sends are the requests to send now.
	sends []send
	// holds are the obstacles of the pods. Nil: the pod only waits for an earlier step or request.
	holds map[types.UID]*obstacle
	// notes are the input of the next decision; pace decides about `turns`, `refusals` and `named`.
	notes
	// wake is the time of the next decision if no event comes before.
	wake time.Time
	// statics are the static pods whose removal is due and possible.
	statics []*corev1.Pod
	// fallen are the named pods that the drain evicts itself, each with the cause; left counts the other named pods.
	fallen map[types.UID]string
	left   int
	// idles are the pods that wait for a responder to act.
	idles map[types.UID]bool

	// late: the current step begins, although earlier steps are not empty, because the machine stops soon. short: the machine
	// stops too soon for the grace periods of all pods.
	late, short bool

	refused bool               // the request refuses one of the pods
	taken   map[types.UID]bool // budgets, by this pass
	free    int
	// awaitsRules: the answer to a read of rules is still to come, and no request leaves before.
	awaitsRules bool
}

// pace decides which of the pods may leave now, in their order, and finds the obstacles of the other pods. A step begins when the
// step before it is empty, or its time is over, or the machine stops soon. While the answer to a read of rules is still to come,
// pace sends no request and begins no step, but keeps the times of steps that have begun.
func pace(steps [][]leaver, f facts) *pacing {
	p := &pacing{
		facts: f, holds: map[types.UID]*obstacle{}, fallen: map[types.UID]string{}, idles: map[types.UID]bool{},
		notes: notes{turns: map[types.UID]time.Time{}, refusals: map[types.UID]time.Time{}, named: map[types.UID]naming{}},
		taken: map[types.UID]bool{}, free: maxInFlight - f.inFlight,
	}
	all := slices.Concat(steps...)
	p.refuse(all)
	if !f.node.mayEvict() {
		return p
	}
	p.keepNamed(all)
	if p.refused {
		return p // this time counts for no pod: all turns begin again
	}
	p.awaitsRules = slices.ContainsFunc(all, func(l leaver) bool { return f.awaitsRules(l.pod.Namespace) })
	if p.awaitsRules {
		p.free = 0
	}
	for _, l := range all {
		if since, came := f.turns[l.pod.UID]; came {
			p.turns[l.pod.UID] = since // even of a step that waits again
		}
	}
	starts, short := f.shutdown.share(steps, f.request)
	p.short = short
	held := false
	for i, step := range steps {
		if isMirror(step[0].pod) && !isMirror(steps[0][0].pod) {
			break // static pods wait for all other pods, even if the time of those is over
		}
		if starts != nil {
			p.late = !f.now.Before(starts[i])
			if !p.late {
				p.wake = earlier(p.wake, starts[i])
			}
		}
		if held && !p.late {
			break
		}
		held = p.step(step) || held
	}
	return p
}

// refuse records the pods that the request refuses to evict. A rule that is about to be read may skip a pod, so its pods come
// later. If the rules cannot be read, their pods count.
func (p *pacing) refuse(leaving []leaver) {
	for _, l := range leaving {
		if o := refusal(l.pod, p.facts.request); o != nil && !p.facts.awaitsRules(l.pod.Namespace) {
			p.refused, p.holds[l.pod.UID] = true, o
		}
	}
}

// step decides about all pods of a step, and reports whether the next step must wait for one of them.
func (p *pacing) step(step []leaver) (holds bool) {
	for _, l := range step {
		since, came := p.turns[l.pod.UID]
		switch {
		case p.facts.awaitsRules(l.pod.Namespace):
			continue // a rule may skip the pod, or move it to another step
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
		if why, fallen := p.fallen[l.pod.UID]; fallen && hold != nil {
			hold = &obstacle{hold.reason, hold.by, why + hold.message}
		}
		p.holds[l.pod.UID] = hold
		p.wake = earlier(p.wake, look)
		if s != nil {
			p.send(*s)
		}
	}
	return holds
}

// send reserves capacity for a request, or leaves the request to a later pass.
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

// sendsFor reports whether the drain sends a request for a pod.
func (p *pacing) sendsFor(pod types.UID) bool {
	return slices.ContainsFunc(p.sends, func(s send) bool { return s.pod.UID == pod })
}

// turn decides about one pod of the current step, without regard to the other pods.
func (p *pacing) turn(l leaver, since time.Time) (s *send, hold *obstacle, wake time.Time) {
	f, t := p.facts, p.facts.tries[l.pod.UID]
	switch {
	case l.freeze != "" && !isTerminating(l.pod) && !t.inFlight && f.shutdown.length == 0 && !f.request.PassFreezes:
		return nil, Frozen.obstacle(l.freeze, "%s", l.why), time.Time{}
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
	case l.waits(since, f.now) && !p.late:
		return nil, completion(l), time.Time{}
	}
	if hold, wake = p.awaitVolumes(l, since); hold != nil {
		return nil, hold, wake
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
	switch at := p.keepRefusal(l); {
	case at.IsZero() || f.now.Before(at):
		return s, hold, earlier(wake, at)
	case p.awaitsRules:
		return nil, hold, wake
	default:
		return forced(l, byDeletion, t, f.now)
	}
}

// isRefused reports whether an obstacle counts for Escalation.DeleteAfter. An unanswered eviction was not refused, and a budget
// that was closed at the last successful read may have opened meanwhile.
func (f facts) isRefused(l leaver, hold *obstacle) bool {
	return hold != nil && hold.reason != EvictionTimedOut && !f.unheard[l.pod.Namespace]
}

// keepRefusal records that the eviction of a pod is refused, and returns the time of its deletion. Zero: never.
func (p *pacing) keepRefusal(l leaver) (deletion time.Time) {
	since, known := p.facts.refusals[l.pod.UID]
	if !known {
		since = p.facts.now
	}
	p.refusals[l.pod.UID] = since
	if after := p.facts.request.Escalation.DeleteAfter; after > 0 {
		return since.Add(after)
	}
	return time.Time{}
}

// evict predicts whether the server would accept the eviction of a pod.
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

// whileTerminating decides about a kill. A second eviction would have no effect; only a shorter grace period has one.
func (p *pacing) whileTerminating(l leaver, t try) (s *send, hold *obstacle, wake time.Time) {
	f := p.facts
	switch at := killAt(l.pod, f.request.Escalation, f.ahead); {
	case at.IsZero() || f.now.Before(at):
		return nil, nil, at
	case t.inFlight:
		return nil, t.standing(), time.Time{}
	case f.now.Before(f.brake.until):
		return nil, t.standing(), f.brake.until
	default:
		return forced(l, byKill, t, f.now)
	}
}

// killAt returns the time at which a terminating pod must be killed. Zero: never. ahead is the lead of the server's clock, which
// has dated the end of the pod.
func killAt(pod *corev1.Pod, e Escalation, ahead time.Duration) time.Time {
	grace := pod.DeletionGracePeriodSeconds
	if e.KillAfter == 0 || grace == nil || *grace <= 1 {
		return time.Time{}
	}
	return pod.DeletionTimestamp.Add(e.KillAfter - ahead - time.Duration(*grace)*time.Second)
}

// forced returns a deletion. The answer to an earlier deletion can delay it; answers to evictions cannot.
func forced(l leaver, by means, t try, now time.Time) (s *send, hold *obstacle, wake time.Time) {
	if t.by == by && now.Before(t.notBefore) {
		return nil, t.refusal, t.notBefore
	}
	return &send{pod: l.pod, by: by}, t.standing(), time.Time{}
}

func completion(l leaver) *obstacle {
	limit := "without a limit of time"
	if l.deadline > 0 {
		limit = fmt.Sprintf("for %s at most", l.deadline)
	}
	return WaitingForCompletion.obstacle(l.rule, "%s makes the drain wait until the pod has ended by itself, %s", l.source(), limit)
}

// awaitsRules reports whether the answer to a read of the namespace's rules is still to come.
func (f facts) awaitsRules(namespace string) bool {
	return f.unruled(namespace) && !f.rulesBad[namespace]
}

// unruled reports whether the rules of a namespace are unknown: its pods stay meanwhile.
func (f facts) unruled(namespace string) bool {
	_, known := f.rules[namespace]
	return f.ruled && !known
}
