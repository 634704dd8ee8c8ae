// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// book is what a drain remembers of what it saw and did. Losing it loses nothing but the progress count and the back-off:
// all else is in the API.
type book struct {
	tries    map[types.UID]try
	present  map[types.UID]struct{} // in scope at the last look
	gone     int
	inFlight int
	brake    brake
	last     lastLook
	since    map[blockerKey]time.Time
}

// lastLook is the state of the LIST that ends the drain.
type lastLook struct {
	failures  int
	notBefore time.Time
	err       error
}

func newBook() book {
	return book{tries: map[types.UID]try{}, present: map[types.UID]struct{}{}}
}

// saw counts the pods that are gone, and forgets what was tried with them. leaving are the pods in scope, exists tells
// whether the watch still shows a pod.
func (b *book) saw(leaving []*corev1.Pod, exists func(types.UID) bool) {
	now := make(map[types.UID]struct{}, len(leaving))
	for _, pod := range leaving {
		now[pod.UID] = struct{}{}
	}
	for uid := range b.present {
		if _, still := now[uid]; still {
			continue
		}
		if !exists(uid) { // else it is out of scope now, which is neither gone nor remaining
			b.gone++
		}
		if !b.tries[uid].inFlight {
			delete(b.tries, uid)
		}
	}
	b.present = now
	if len(leaving) > 0 {
		b.last = lastLook{}
	}
}

// tell puts what is remembered into the facts.
func (b *book) tell(f *facts) {
	f.tries, f.inFlight, f.brake, f.gone, f.since = b.tries, b.inFlight, b.brake, b.gone, b.since
	f.confirmAfter = b.last.notBefore
}

// sent notes an eviction that is on its way.
func (b *book) sent(s send) {
	t := b.tries[s.pod.UID]
	t.inFlight, t.stamp = true, stampOf(s.pod, s.guards)
	b.tries[s.pod.UID] = t
	b.inFlight++
}

// answered is an answer with what it answers.
type answered struct {
	answer
	pod *corev1.Pod
}

// learned notes the answer to an eviction. random is in [0,1).
func (b *book) learned(a answered, now time.Time, random float64) {
	b.inFlight--
	b.brake = b.brake.after(a.answer, now, random)
	if _, present := b.present[a.pod.UID]; !present {
		delete(b.tries, a.pod.UID) // gone before the answer came
		return
	}
	b.tries[a.pod.UID] = b.tries[a.pod.UID].after(a.answer, now, random)
}

// looked notes that the last LIST failed, or showed a pod that the watch is about to show. Until it does, there is
// nothing to do but to look again now and then.
func (b *book) looked(err error, now time.Time, random float64) {
	b.last = lastLook{
		failures:  b.last.failures + 1,
		notBefore: now.Add(backoff(b.last.failures, retryCap, random)),
		err:       err,
	}
}
