// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

const (
	// retryFirst and retryCap limit the back-off after a refusal that no budget caused.
	retryFirst = time.Second
	retryCap   = 30 * time.Second
	// outageCap is shorter: requests to an unreachable API server cost little, and each pause delays the drain.
	outageCap = 8 * time.Second
	// safetyNet limits the wait for a watch event that should have come long ago.
	safetyNet = time.Minute
)

// try is the result of the requests for one pod so far. The zero value: no request was sent.
type try struct {
	// inFlight: the answer is still to come.
	inFlight bool
	// by is the means of the last request.
	by means
	// outcome is the last answer, refusal its cause if it was a refusal.
	outcome outcome
	refusal *obstacle
	// idle is the time of the first of several answers in a row by which the pod ends, or does not exist. Zero: none.
	idle time.Time
	// failures counts the answers since the last accepted request.
	failures int
	// notBefore is the time of the next request, unless a change allows it earlier.
	notBefore time.Time
	// stamp identifies the input of the last eviction. If the server refuses although the known budget would allow it, the drain
	// waits for another stamp.
	stamp string
}

// stampOf changes with the pod and with each of its budgets.
func stampOf(pod *corev1.Pod, guards []*budget) string {
	stamp := pod.ResourceVersion
	for _, b := range guards {
		stamp += "," + string(b.UID) + "@" + b.ResourceVersion
	}
	return stamp
}

// standing returns the refusal that still applies during the next try. The refusal by a budget does not: the budget has changed.
func (t try) standing() *obstacle {
	if t.outcome == budgetRefused {
		return nil
	}
	return t.refusal
}

// after returns the try after an answer. random is in [0,1).
func (t try) after(a answer, now time.Time, random float64) try {
	next := try{by: t.by, outcome: a.outcome, refusal: a.refusal, stamp: t.stamp, failures: t.failures + 1}
	switch a.outcome {
	case notSent, overloaded, unavailable:
		// Not about this pod: the brake decides about the next request.
		next.refusal, next.failures, next.idle = nil, t.failures, t.idle
	case accepted:
		next.failures = 0
		next.notBefore = now.Add(jitter(safetyNet, random))
		next.idle, next.refusal = t.stays(now, "accepts each request")
	case vanished:
		next.notBefore = now.Add(backoff(t.failures, retryCap, random))
		next.idle, next.refusal = t.stays(now, "does not find the pod")
	case budgetRefused, namespaceEnding:
		next.notBefore = now.Add(jitter(safetyNet, random))
	case refused:
		next.notBefore = now.Add(backoff(t.failures, retryCap, random))
	}
	return next
}

// stays returns the new idle, and the obstacle of a pod that remains for long after such answers: at first, the watch may just
// be late.
func (t try) stays(now time.Time, answer string) (since time.Time, hold *obstacle) {
	switch {
	case t.idle.IsZero():
		return now, nil
	case now.Before(t.idle.Add(safetyNet / 2)): // as soon as an accepted eviction is sent again
		return t.idle, nil
	default:
		return t.idle, EvictionWithoutEffect.obstacle("", "the server %s, and the pod remains", answer)
	}
}

// holds reports whether the last answer still delays the next try of this pod.
func (t try) holds(stamp string, now time.Time) bool {
	return now.Before(t.notBefore) && (t.outcome != budgetRefused || t.stamp == stamp)
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
			return b // the request is older than the brake
		}
		return brake{}
	}
	next := brake{failures: b.failures, until: now.Add(wait), obstacle: a.refusal}
	switch {
	case !now.Before(b.until):
		next.failures++
	case b.until.After(now.Add(a.retryAfter)): // the requests were in flight together
		next.until = b.until
	default:
		next.until = now.Add(a.retryAfter)
	}
	return next
}

// backoff doubles with each failure up to limit. Its upper half is random, so that several clients do not stay in step.
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

// trials are the tries of all pods, and their common brake.
type trials struct {
	tries    map[types.UID]try
	inFlight int
	brake    brake
}

func newTrials() trials { return trials{tries: map[types.UID]try{}} }

// sent records a request in flight.
func (t *trials) sent(s send) {
	next := t.tries[s.pod.UID]
	if (s.by == byKill) != (next.by == byKill) {
		next.idle = time.Time{} // the pod is ending: a kill is another request
	}
	next.inFlight, next.stamp, next.by = true, stampOf(s.pod, s.guards), s.by
	t.tries[s.pod.UID] = next
	t.inFlight++
}

// learned records an answer. random is in [0,1).
func (t *trials) learned(a answered, present bool, now time.Time, random float64) {
	t.inFlight--
	t.brake = t.brake.after(a.answer, now, random)
	if !present {
		delete(t.tries, a.pod.UID) // gone before the answer came
		return
	}
	t.tries[a.pod.UID] = t.tries[a.pod.UID].after(a.answer, now, random)
}
