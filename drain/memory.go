// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// memory is the memory of one drain. A restart loses the progress count, the back-off and the times that pods have had; the
// API has everything else.
type memory struct {
	notes
	trials
	present    map[types.UID]presence // in scope at the last look
	owners     map[types.UID]returns  // by controller
	nodeSeen   bool
	gone       int // pods that were in scope and do not exist now
	last       readAttempt
	confirmed  bool // the last LIST has shown no pod in scope, and no pod has come since
	volumes    volumesInUse
	claimRead  readAttempt
	overridden []types.NamespacedName
}

// presence is a pod at the last look.
type presence struct {
	owner types.UID
	// counted: its controller's returns include the end of the pod, or the pod has ended by itself.
	counted bool
}

func newMemory() memory {
	return memory{
		trials: newTrials(), present: map[types.UID]presence{}, owners: map[types.UID]returns{}, volumes: volumesInUse{},
	}
}

// saw counts the pods that came or went since the last look, and forgets the tries of the latter. covered are the pods of the
// targets; exists reports whether the watch still shows a pod.
func (m *memory) saw(covered []*corev1.Pod, exists func(types.UID) bool) {
	before, found := m.present, map[types.UID]bool{}
	m.present = make(map[types.UID]presence, len(covered))
	for _, pod := range covered {
		p, known := before[pod.UID]
		if !known {
			p.owner = m.came(pod, found)
		}
		if !p.counted && isTerminating(pod) {
			m.count(p.owner)
		}
		p.counted = p.counted || isTerminating(pod) || isFinished(pod)
		m.present[pod.UID] = p
		m.unanswered(pod)
	}
	for uid, p := range before {
		if _, still := m.present[uid]; still {
			continue
		}
		if !exists(uid) { // otherwise it is out of scope now: neither gone nor remaining
			m.gone++
			if !p.counted {
				m.count(p.owner)
			}
		}
		if !m.tries[uid].inFlight {
			delete(m.tries, uid)
		}
	}
}

// unanswered finds a deletion that took effect although its answer was lost. After a refused deletion, another client has
// made the pod end.
func (m *memory) unanswered(pod *corev1.Pod) {
	t, tried := m.tries[pod.UID]
	lost := t.outcome == unavailable || t.refusal != nil && t.refusal.reason == EvictionTimedOut
	if tried && t.by == byDeletion && !t.inFlight && lost && isTerminating(pod) {
		t.outcome, t.refusal = accepted, nil
		m.tries[pod.UID] = t
		m.overrode(pod)
	}
}

func (m *memory) overrode(pod *corev1.Pod) {
	m.overridden = append(slices.Clip(m.overridden), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
}

// keep stores the notes from a decision. While pods are left, an earlier LIST does not count.
func (m *memory) keep(n notes) {
	m.notes = n
	if n.emptied.IsZero() {
		m.last, m.confirmed = readAttempt{}, false
	}
	if !n.claims {
		m.claimRead = readAttempt{}
	}
}

// fill adds the memory to the facts.
func (m *memory) fill(f *facts) { f.memory = *m }

// learned records the answer to a request. random is in [0,1).
func (m *memory) learned(a answered, now time.Time, random float64) {
	if a.outcome == accepted && a.by == byDeletion {
		m.overrode(a.pod)
	}
	_, present := m.present[a.pod.UID]
	m.trials.learned(a, present, now, random)
}

// readAttempt is the state of a read that the end of the drain needs.
type readAttempt struct {
	failures  int
	notBefore time.Time
	err       error
}

// after returns the state after a failure.
func (l readAttempt) after(err error, now time.Time, random float64) readAttempt {
	return readAttempt{failures: l.failures + 1, notBefore: now.Add(backoff(l.failures, retryCap, random)), err: err}
}

// maxReturns limits the returns of a controller's pods to the node that they were evicted from. A single return is chance: a
// binding that had begun before the cordon. Pods that always return tolerate everything; evictions only make them younger.
const maxReturns = 3

// returns counts, for a controller, the pods that the drain found on the node, the pods that were sent away, and the pods
// that came later.
type returns struct {
	found, sent, came int
}

// recurring reports that each found pod has been sent away and has returned maxReturns times, on average. Pods that only
// come, as when a controller is scaled up, are no returns.
func (r returns) recurring() bool { return min(r.sent, r.came) >= maxReturns*max(r.found, 1) }

// came counts a pod that was missing at the last look, and returns its controller. found are the controllers whose first pods
// this look shows.
func (m *memory) came(pod *corev1.Pod, found map[types.UID]bool) (owner types.UID) {
	o := metav1.GetControllerOfNoCopy(pod)
	if o == nil || isMirror(pod) { // whose owner is the Node
		return ""
	}
	r, known := m.owners[o.UID]
	if !known {
		found[o.UID] = true
	}
	if found[o.UID] {
		r.found++
	} else {
		r.came++
	}
	m.owners[o.UID] = r
	return o.UID
}

// count records that a pod of a controller was sent away.
func (m *memory) count(owner types.UID) {
	if r, known := m.owners[owner]; known {
		r.sent++
		m.owners[owner] = r
	}
}
