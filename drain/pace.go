// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// maxInFlight bounds the evictions of one drain that are not answered yet. The server works on each for about 10 ms, so
// more would only queue there.
const maxInFlight = 16

// pace decides which of the pods may be evicted now, in their order, and what keeps each of the others. The obstacle of
// a pod that only waits for its turn is nil. It also says when to look again, should nothing happen.
func pace(pods []*corev1.Pod, f facts) (sends []send, holds map[types.UID]*obstacle, wake time.Time) {
	holds = map[types.UID]*obstacle{}
	taken := map[types.UID]bool{}
	free := maxInFlight - f.inFlight
	for _, pod := range pods {
		if isTerminating(pod) {
			continue // leaving already; a second eviction would change nothing
		}
		s, hold, look := turn(pod, f)
		holds[pod.UID] = hold
		wake = earlier(wake, look)
		if s == nil || free == 0 {
			continue
		}
		if s.budget != nil {
			if taken[s.budget.UID] {
				continue
			}
			taken[s.budget.UID] = true
		}
		free--
		sends = append(sends, *s)
	}
	return sends, holds, wake
}

// turn decides for one pod, as if it were the only one.
func turn(pod *corev1.Pod, f facts) (s *send, hold *obstacle, wake time.Time) {
	t := f.tries[pod.UID]
	known, ok := f.budgets[pod.Namespace]
	switch {
	case !f.node.mayEvict():
		return nil, nil, time.Time{}
	case t.inFlight:
		return nil, t.standing(), time.Time{}
	case f.now.Before(f.brake.until):
		return nil, t.standing(), f.brake.until
	case !ok:
		return nil, nil, time.Time{}
	}
	of := guards(pod, known)
	if t.holds(stampOf(pod, of), f.now) {
		return nil, t.refusal, t.notBefore
	}
	a := admit(pod, of)
	if a.refusal != nil {
		return nil, a.refusal, time.Time{}
	}
	if a.budget != nil {
		if until, busy := f.slots[a.budget.UID]; busy {
			return nil, t.standing(), until
		}
	}
	return &send{pod: pod, guards: of, budget: a.budget, counts: a.counts}, t.standing(), time.Time{}
}

// mayEvict tells whether a pod that is evicted now has no way back to this node through the scheduler.
func (n nodeFacts) mayEvict() bool {
	return n.known && n.exists && n.unschedulable
}
