// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// retryFirst and retryCap bound the back-off after a refusal that has nothing to do with a budget.
	retryFirst = time.Second
	retryCap   = 30 * time.Second
	// outageCap is shorter: asking an API server that is away costs nobody anything, and waiting costs the drain.
	outageCap = 8 * time.Second
	// safetyNet is how long to wait for a watch to tell what it should have told long ago.
	safetyNet = time.Minute
)

// try is what came of our evictions of one pod so far. The zero value means that none was sent.
type try struct {
	// inFlight: an eviction was sent and is not answered.
	inFlight bool
	// by which means it was tried last.
	by means
	// outcome of the last answer.
	outcome outcome
	// refusal explains the last answer, where it was a refusal.
	refusal *obstacle
	// idle is when the server first said that the pod goes, or is gone, of several times in a row. Zero: it has not.
	idle time.Time
	// failures counts the answers since something was accepted.
	failures int
	// notBefore is when to send again, if nothing changes before.
	notBefore time.Time
	// stamp is what the last eviction was based on. Where the server refused for a budget that we thought would allow
	// it, we know too little, and wait for the stamp to change.
	stamp string
}

// stampOf changes when the pod or one of its budgets does.
func stampOf(pod *corev1.Pod, guards []*budget) string {
	stamp := pod.ResourceVersion
	for _, b := range guards {
		stamp += "," + string(b.UID) + "@" + b.ResourceVersion
	}
	return stamp
}

// standing is the refusal that still holds while the pod is being tried again. That of a budget does not: it is tried
// again because the budget has changed.
func (t try) standing() *obstacle {
	if t.outcome == budgetRefused {
		return nil
	}
	return t.refusal
}

// after returns the try once its eviction has been answered. random is in [0,1).
func (t try) after(a answer, now time.Time, random float64) try {
	next := try{by: t.by, outcome: a.outcome, refusal: a.refusal, stamp: t.stamp, failures: t.failures + 1}
	switch a.outcome {
	case notSent, overloaded, unavailable:
		// Not about this pod: the brake decides when to go on.
		next.refusal, next.failures, next.idle = nil, t.failures, t.idle
	case accepted:
		next.failures = 0
		next.notBefore = now.Add(jitter(safetyNet, random))
		next.idle, next.refusal = t.stays(now, "accepts that it ends")
	case vanished:
		next.notBefore = now.Add(backoff(t.failures, retryCap, random))
		next.idle, next.refusal = t.stays(now, "says that it is not there")
	case budgetRefused, namespaceEnding:
		next.notBefore = now.Add(jitter(safetyNet, random))
	case refused:
		next.notBefore = now.Add(backoff(t.failures, retryCap, random))
	}
	return next
}

// stays returns since when the server has said that the pod goes, or is gone, and what holds a pod of which it has done so
// for long: at first, the watch may just be late.
func (t try) stays(now time.Time, said string) (since time.Time, hold *obstacle) {
	if t.idle.IsZero() {
		return now, nil
	}
	if now.Before(t.idle.Add(safetyNet / 2)) { // as soon as an eviction that was accepted is sent again
		return t.idle, nil
	}
	return t.idle, &obstacle{reason: EvictionWithoutEffect, message: EvictionWithoutEffect.advise("the server " + said +
		" whenever it is asked, and the pod is seen to stay")}
}

// holds reports whether the last answer still keeps this pod from being tried again, and until when at most.
func (t try) holds(stamp string, now time.Time) bool {
	switch t.outcome {
	case budgetRefused:
		return t.stamp == stamp && now.Before(t.notBefore)
	default:
		return now.Before(t.notBefore)
	}
}

// brake stops all evictions of a drain while the API server is overloaded or away.
type brake struct {
	failures int
	until    time.Time
	obstacle *obstacle
}

func (b brake) after(a answer, now time.Time, random float64) brake {
	var wait time.Duration
	switch a.outcome {
	case notSent:
		return b
	case overloaded:
		wait = max(a.retryAfter, backoff(b.failures, retryCap, random))
	case unavailable:
		wait = backoff(b.failures, outageCap, random)
	default:
		if now.Before(b.until) {
			return b // it was sent before the brake was put on
		}
		return brake{}
	}
	next := brake{failures: b.failures, until: now.Add(wait), obstacle: a.refusal}
	if now.Before(b.until) { // one more of those that were on their way together
		next.until = later(b.until, now.Add(a.retryAfter))
		return next
	}
	next.failures++
	return next
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// backoff doubles with each failure up to limit. The upper half of it is random, so that several clients part.
func backoff(failures int, limit time.Duration, random float64) time.Duration {
	d := limit
	if failures < 16 { // further doubling would overflow
		d = min(limit, retryFirst<<failures)
	}
	return jitter(d, random)
}

func jitter(d time.Duration, random float64) time.Duration {
	return d/2 + time.Duration(random*float64(d/2))
}

// trials are the tries of all pods, and the brake that they put on.
type trials struct {
	tries    map[types.UID]try
	inFlight int
	brake    brake
}

func newTrials() trials { return trials{tries: map[types.UID]try{}} }

// sent records an eviction that is on its way.
func (t *trials) sent(s send) {
	next := t.tries[s.pod.UID]
	if (s.by == byKill) != (next.by == byKill) {
		next.idle = time.Time{} // it is ending: what is asked for now is another thing
	}
	next.inFlight, next.stamp, next.by = true, stampOf(s.pod, s.guards), s.by
	t.tries[s.pod.UID] = next
	t.inFlight++
}

// learned records the answer to an eviction. random is in [0,1).
func (t *trials) learned(a answered, present bool, now time.Time, random float64) {
	t.inFlight--
	t.brake = t.brake.after(a.answer, now, random)
	if !present {
		delete(t.tries, a.pod.UID) // gone before the answer came
		return
	}
	t.tries[a.pod.UID] = t.tries[a.pod.UID].after(a.answer, now, random)
}
