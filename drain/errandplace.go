// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// tellAgain is how long to keep from a caller that only the text of a blocker has changed: with each pod that becomes
// ready, it does so for all pods under a budget.
const tellAgain = 3 * time.Minute

// takeIn takes in the answers, and what is in the inbox.
func (l *errandLoop) takeIn(ctx context.Context) {
	l.learnAll()
	begun, left, touched, relisted := l.inbox.take()
	for _, e := range begun {
		l.join(ctx, e)
		l.place(e)
	}
	for _, e := range touched {
		l.place(e)
	}
	for _, namespace := range relisted {
		if in := l.grounds[namespace]; in != nil {
			for _, e := range in.errands {
				l.place(e)
			}
		}
	}
	for _, e := range left {
		l.leave(e)
	}
}

func (in *inbox) take() (begun, left, touched []*errand, relisted []string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	for uid := range in.touched {
		if e := in.by[uid]; e != nil {
			touched = append(touched, e)
		}
	}
	for namespace := range in.relisted {
		relisted = append(relisted, namespace)
	}
	begun, left = in.begun, in.left
	in.begun, in.left = nil, nil
	clear(in.touched)
	clear(in.relisted)
	return begun, left, touched, relisted
}

// touch is told which pod of a namespace has changed, or none, where there is a new list, and tells whether that
// matters.
func (in *inbox) touch(namespace string, uid types.UID) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case uid == "":
		in.relisted[namespace] = struct{}{}
	case in.by[uid] != nil:
		in.touched[uid] = struct{}{}
	default:
		return false
	}
	return true
}

// join has the errand's namespace watched.
func (l *errandLoop) join(ctx context.Context, e *errand) {
	in := l.grounds[e.pod.Namespace]
	if in == nil {
		in = l.open(ctx, e.pod.Namespace)
		l.grounds[e.pod.Namespace] = in
	}
	e.ground = in
	in.errands[e.uid] = e
}

// place looks at the errand's pod, and puts it where it belongs.
func (l *errandLoop) place(e *errand) {
	if e.ended {
		return
	}
	pod, found := e.ground.pods.Get(e.uid)
	switch {
	case !found && !e.ground.pods.Synced():
	case !found && e.seen == nil:
		e.unseen.poke()
	case !found, isFinished(pod):
		l.finish(e, nil)
	case !isTerminating(pod) && unevictable(pod) != nil:
		l.finish(e, unevictable(pod))
	default:
		e.seen = pod
		l.assign(e)
	}
}

// assign puts the errand into the group of pods that it shares its budget with.
func (l *errandLoop) assign(e *errand) {
	guards := e.ground.guards(e.seen)
	key := e.uid
	if len(guards) == 1 {
		key = guards[0].UID
	}
	if e.group == nil || e.group.key != key {
		l.quit(e)
		e.group = e.ground.group(key)
		e.group.add(e)
	}
	e.group.guards = guards
	l.queue(e.group)
}

// quit takes the errand out of its group.
func (l *errandLoop) quit(e *errand) {
	g := e.group
	if g == nil {
		return
	}
	e.group = nil
	if g.remove(e); len(g.members) == 0 {
		delete(e.ground.groups, g.key)
		delete(l.barred, g)
	}
}

// finish tells the caller that there is nothing left to do.
func (l *errandLoop) finish(e *errand, err error) {
	e.over <- err // never blocks: it is told once
	l.leave(e)
}

// leave sees to it that nothing more is sent for the errand.
func (l *errandLoop) leave(e *errand) {
	if e.ended {
		return
	}
	e.ended = true
	l.quit(e)
	if !l.tries[e.uid].inFlight {
		l.drop(e)
	}
}

// drop forgets the errand.
func (l *errandLoop) drop(e *errand) {
	delete(l.tries, e.uid)
	delete(e.ground.errands, e.uid)
	if len(e.ground.errands) == 0 {
		l.close(e.ground)
	}
	l.inbox.mu.Lock()
	delete(l.inbox.by, e.uid)
	l.inbox.mu.Unlock()
	close(e.dropped)
}

// tell lets the caller know what holds the pod, and returns when to tell what it has kept.
func (l *errandLoop) tell(e *errand, own Blocker, now time.Time) (again time.Time) {
	e.own = own
	p := PodProgress{Blocker: own}
	if own.Reason == "" {
		p.Blocker = e.ground.blocker(e.pod)
	}
	if e.seen != nil && isTerminating(e.seen) {
		p.Ends = e.seen.DeletionTimestamp.Time
	}
	if p == e.told {
		return time.Time{}
	}
	if next := e.toldAt.Add(tellAgain); p.resembles(e.told) && now.Before(next) {
		return next
	}
	e.told, e.toldAt = p, now
	e.report(p)
	return time.Time{}
}

// resembles is true if only texts differ.
func (p PodProgress) resembles(o PodProgress) bool {
	return p.Blocker.Reason == o.Blocker.Reason && p.Blocker.By == o.Blocker.By && p.Ends.Equal(o.Ends)
}
