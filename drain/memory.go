// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// memory is what a drain remembers of what it saw and did. Losing it loses only the progress count, the back-off, and how
// long the drain has waited for pods: all else is in the API.
type memory struct {
	notes
	trials
	present    map[types.UID]struct{} // in scope at the last look
	owners     map[types.UID]returns
	attached   []string
	nodeSeen   bool
	gone       int
	last       readAttempt
	confirmed  bool
	volumes    volumesInUse
	claimRead  readAttempt
	overridden []types.NamespacedName
}

// readAttempt is the state of a read that ends the drain, or of one that is needed to end it.
type readAttempt struct {
	failures  int
	notBefore time.Time
	err       error
}

func newMemory() memory {
	return memory{
		trials: newTrials(), present: map[types.UID]struct{}{}, owners: map[types.UID]returns{}, volumes: volumesInUse{},
	}
}

// saw counts the pods that are gone, and forgets what was tried with them. covered are the pods that the targets speak
// of, exists tells whether the watch still shows a pod.
func (m *memory) saw(covered []*corev1.Pod, exists func(types.UID) bool) {
	now := make(map[types.UID]struct{}, len(covered))
	var fresh []*corev1.Pod
	for _, pod := range covered {
		now[pod.UID] = struct{}{}
		if _, known := m.present[pod.UID]; !known {
			fresh = append(fresh, pod)
		}
	}
	recount(m.owners, fresh)
	for _, pod := range covered {
		m.unanswered(pod)
		m.sentByOthers(pod)
	}
	for uid := range m.present {
		if _, still := now[uid]; still {
			continue
		}
		if !exists(uid) { // else it is out of scope now, which is neither gone nor remaining
			m.gone++
			m.wentByOthers(uid)
		}
		if !m.tries[uid].inFlight {
			delete(m.tries, uid)
		}
	}
	m.present = now
}

// unanswered finds out that a deletion whose answer was lost did take effect. One that was refused did not: then another
// client has made the pod end.
func (m *memory) unanswered(pod *corev1.Pod) {
	t, tried := m.tries[pod.UID]
	lost := t.outcome == unavailable || t.refusal != nil && t.refusal.reason == EvictionTimedOut
	if tried && t.by == byDeletion && !t.inFlight && lost && isTerminating(pod) {
		t.outcome, t.refusal = accepted, nil
		m.tries[pod.UID] = t
		m.left(pod, byDeletion)
	}
}

// sentByOthers counts a pod that is left to responders and is ending now. One that has ended by itself does not count.
func (m *memory) sentByOthers(pod *corev1.Pod) {
	n, named := m.named[pod.UID]
	switch {
	case !named || n.sent:
	case isTerminating(pod):
		m.wentByOthers(pod.UID)
	case isFinished(pod):
		n.sent = true
		m.named[pod.UID] = n
	}
}

// wentByOthers counts a pod that is left to responders, and that was not evicted by the drain all the same, as sent away.
func (m *memory) wentByOthers(uid types.UID) {
	n, named := m.named[uid]
	if !named || n.sent || m.tries[uid].inFlight {
		return
	}
	n.sent = true
	m.named[uid] = n
	m.count(n.owner)
}

// count records that a pod of a controller was sent away.
func (m *memory) count(owner types.UID) {
	if r, known := m.owners[owner]; known {
		r.sent++
		m.owners[owner] = r
	}
}

// keep keeps the notes of a decision. While there are pods to wait for, the last LIST is still to come.
func (m *memory) keep(n notes) {
	m.notes = n
	if n.emptied.IsZero() {
		m.last, m.confirmed = readAttempt{}, false
	}
	if !n.claims {
		m.claimRead = readAttempt{}
	}
}

// fill puts what is remembered into the facts.
func (m *memory) fill(f *facts) {
	f.tries, f.inFlight, f.brake, f.gone = m.tries, m.inFlight, m.brake, m.gone
	f.since, f.turns, f.refusals, f.emptied = m.since, m.turns, m.refusals, m.emptied
	f.named, f.namedComplete = m.named, m.namedComplete
	f.confirmed, f.confirmAfter = m.confirmed, m.last.notBefore
	f.volumes, f.resolveAfter, f.overridden = m.volumes, m.claimRead.notBefore, m.overridden
	f.recurring = map[types.UID]bool{}
	for uid, r := range m.owners {
		if r.recurring() {
			f.recurring[uid] = true
		}
	}
}

// learned records the answer to an eviction. random is in [0,1).
func (m *memory) learned(a answered, now time.Time, random float64) {
	if a.outcome == accepted {
		m.left(a.pod, a.by)
	}
	_, present := m.present[a.pod.UID]
	m.trials.learned(a, present, now, random)
}

// left records that a pod has been made to leave.
func (m *memory) left(pod *corev1.Pod, by means) {
	if by == byDeletion {
		m.overridden = append(slices.Clip(m.overridden), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || by == byKill || isFinished(pod) {
		return
	}
	if n, named := m.named[pod.UID]; named {
		if n.sent {
			return
		}
		n.sent = true
		m.named[pod.UID] = n
	}
	m.count(owner.UID)
}

// sawNode remembers that there was a Node. When its volumes have changed, it forgets which claims have none: one may have
// got it meanwhile.
func (m *memory) sawNode(n nodeFacts) {
	m.nodeSeen = m.nodeSeen || n.exists
	if slices.Equal(m.attached, n.attached) {
		return
	}
	m.attached = n.attached
	maps.DeleteFunc(m.volumes, func(_ types.NamespacedName, name string) bool { return name == "" })
}

// listFailed records that the last LIST failed, or showed a pod that the watch is about to show. Until then, the drain can
// only list again now and then.
func (m *memory) listFailed(err error, now time.Time, random float64) {
	m.last = m.last.after(err, now, random)
}

// claimFailed records that a claim could not be read.
func (m *memory) claimFailed(err error, now time.Time, random float64) {
	m.claimRead = m.claimRead.after(err, now, random)
}

func (l readAttempt) after(err error, now time.Time, random float64) readAttempt {
	return readAttempt{
		failures:  l.failures + 1,
		notBefore: now.Add(backoff(l.failures, retryCap, random)),
		err:       err,
	}
}

// maxReturns is how often the pods of a controller may come back to the node that they were evicted from. Once is
// chance: a binding that was under way. Again and again means that they tolerate everything, so that evicting them
// changes nothing but their age.
const maxReturns = 3

// returns counts, for a controller, the pods that the drain found on the node, those that it made to leave, and those
// that came later.
type returns struct {
	found, sent, came int
}

// recurring reports that each pod that was found has been sent away and has come back maxReturns times, on average. Pods
// that only come, as when a controller is scaled up, are no returns.
func (r returns) recurring() bool { return min(r.sent, r.came) >= maxReturns*max(r.found, 1) }

// recount takes in the pods in scope that were not there at the last look.
func recount(known map[types.UID]returns, fresh []*corev1.Pod) {
	found := map[types.UID]int{}
	for _, pod := range fresh {
		owner := metav1.GetControllerOfNoCopy(pod)
		if owner == nil || isMirror(pod) { // whose owner is the Node
			continue
		}
		r, seen := known[owner.UID]
		if seen {
			r.came++
			known[owner.UID] = r
		} else {
			found[owner.UID]++
		}
	}
	for uid, n := range found {
		known[uid] = returns{found: n}
	}
}

func recurs(pod *corev1.Pod, owner *metav1.OwnerReference) obstacle {
	by := fmt.Sprintf("%s %s/%s", owner.Kind, pod.Namespace, owner.Name)
	return obstacle{PodRecurring, by, PodRecurring.advise("pods of " + by + " came back to the node after each eviction, so they are not " +
		"evicted any more")}
}
