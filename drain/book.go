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

// book is what a drain remembers of what it saw and did. Losing it loses nothing but the progress count, the back-off,
// and how long pods have been waited for: all else is in the API.
type book struct {
	notes
	trials
	present    map[types.UID]struct{} // in scope at the last look
	owners     map[types.UID]returns
	attached   []string
	nodeSeen   bool
	gone       int
	last       lastLook
	confirmed  bool
	volumes    volumesInUse
	puzzle     lastLook
	overridden []types.NamespacedName
}

// lastLook is the state of a read that ends the drain, or of one that is needed to end it.
type lastLook struct {
	failures  int
	notBefore time.Time
	err       error
}

func newBook() book {
	return book{
		trials: newTrials(), present: map[types.UID]struct{}{}, owners: map[types.UID]returns{}, volumes: volumesInUse{},
	}
}

// saw counts the pods that are gone, and forgets what was tried with them. covered are the pods that the targets speak
// of, exists tells whether the watch still shows a pod.
func (b *book) saw(covered []*corev1.Pod, exists func(types.UID) bool) {
	now := make(map[types.UID]struct{}, len(covered))
	var fresh []*corev1.Pod
	for _, pod := range covered {
		now[pod.UID] = struct{}{}
		if _, known := b.present[pod.UID]; !known {
			fresh = append(fresh, pod)
		}
	}
	recount(b.owners, fresh)
	for _, pod := range covered {
		b.unanswered(pod)
		b.sentByOthers(pod)
	}
	for uid := range b.present {
		if _, still := now[uid]; still {
			continue
		}
		if !exists(uid) { // else it is out of scope now, which is neither gone nor remaining
			b.gone++
			b.wentByOthers(uid)
		}
		if !b.tries[uid].inFlight {
			delete(b.tries, uid)
		}
	}
	b.present = now
}

// unanswered finds out that a deletion whose answer was lost did take effect. One that was refused did not: then somebody
// else has made the pod end.
func (b *book) unanswered(pod *corev1.Pod) {
	t, tried := b.tries[pod.UID]
	lost := t.outcome == unavailable || t.refusal != nil && t.refusal.reason == EvictionTimedOut
	if tried && t.by == byDeletion && !t.inFlight && lost && isTerminating(pod) {
		t.outcome, t.refusal = accepted, nil
		b.tries[pod.UID] = t
		b.left(pod, byDeletion)
	}
}

// sentByOthers counts a pod that is left to responders and is ending now. One that has ended by itself does not count.
func (b *book) sentByOthers(pod *corev1.Pod) {
	n, named := b.named[pod.UID]
	switch {
	case !named || n.sent:
	case isTerminating(pod):
		b.wentByOthers(pod.UID)
	case isFinished(pod):
		n.sent = true
		b.named[pod.UID] = n
	}
}

// wentByOthers counts a pod that is left to responders, and that was not evicted by the drain all the same, as sent away.
func (b *book) wentByOthers(uid types.UID) {
	n, named := b.named[uid]
	if !named || n.sent || b.tries[uid].inFlight {
		return
	}
	n.sent = true
	b.named[uid] = n
	b.count(n.owner)
}

// count notes that a pod of a controller was sent away.
func (b *book) count(owner types.UID) {
	if r, known := b.owners[owner]; known {
		r.sent++
		b.owners[owner] = r
	}
}

// noted keeps what a decision has left. Where there are pods to wait for, the next last look is a new one.
func (b *book) noted(n notes) {
	b.notes = n
	if n.emptied.IsZero() {
		b.last, b.confirmed = lastLook{}, false
	}
	if !n.claims {
		b.puzzle = lastLook{}
	}
}

// tell puts what is remembered into the facts.
func (b *book) tell(f *facts) {
	f.tries, f.inFlight, f.brake, f.gone = b.tries, b.inFlight, b.brake, b.gone
	f.since, f.turns, f.refusals, f.emptied = b.since, b.turns, b.refusals, b.emptied
	f.named, f.told = b.named, b.told
	f.confirmed, f.confirmAfter = b.confirmed, b.last.notBefore
	f.volumes, f.resolveAfter, f.overridden = b.volumes, b.puzzle.notBefore, b.overridden
	f.recurring = map[types.UID]bool{}
	for uid, r := range b.owners {
		if r.recurring() {
			f.recurring[uid] = true
		}
	}
}

// learned notes the answer to an eviction. random is in [0,1).
func (b *book) learned(a answered, now time.Time, random float64) {
	if a.outcome == accepted {
		b.left(a.pod, a.by)
	}
	_, present := b.present[a.pod.UID]
	b.trials.learned(a, present, now, random)
}

// left notes that a pod has been made to leave.
func (b *book) left(pod *corev1.Pod, by means) {
	if by == byDeletion {
		b.overridden = append(slices.Clip(b.overridden), types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name})
	}
	owner := metav1.GetControllerOfNoCopy(pod)
	if owner == nil || by == byKill || isFinished(pod) {
		return
	}
	if n, named := b.named[pod.UID]; named {
		if n.sent {
			return
		}
		n.sent = true
		b.named[pod.UID] = n
	}
	b.count(owner.UID)
}

// sawNode remembers that there was a Node. When its volumes have changed, it forgets which claims have none: one may have
// got it meanwhile.
func (b *book) sawNode(n nodeFacts) {
	b.nodeSeen = b.nodeSeen || n.exists
	if slices.Equal(b.attached, n.attached) {
		return
	}
	b.attached = n.attached
	maps.DeleteFunc(b.volumes, func(_ types.NamespacedName, name string) bool { return name == "" })
}

// looked notes that the last LIST failed, or showed a pod that the watch is about to show. Until it does, there is
// nothing to do but to look again now and then.
func (b *book) looked(err error, now time.Time, random float64) {
	b.last = b.last.after(err, now, random)
}

// puzzled notes that a claim could not be read.
func (b *book) puzzled(err error, now time.Time, random float64) {
	b.puzzle = b.puzzle.after(err, now, random)
}

func (l lastLook) after(err error, now time.Time, random float64) lastLook {
	return lastLook{
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

// recurring tells that each pod that was found has been sent away and has come back maxReturns times, on average. Pods
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
