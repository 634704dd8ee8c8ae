// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// maxErrandsInFlight bounds the evictions that are not answered yet. It is more than a Drain has: where a webhook is slow,
// it is so for the pods of some namespace, and the others should not have to wait.
const maxErrandsInFlight = 64

// A decision about a crowd, the many pods of one budget, takes a few microseconds for each of them. It is followed by a
// rest of some times that, so that a budget that changes all the time does not keep a processor busy.
const (
	crowd      = 100
	restPerPod = 10 * time.Microsecond
)

// errandLoop works for all errands. Unlike that of a Drain, it does not look at all pods when something happens, but at
// those that it concerns: the groups that are due.
type errandLoop struct {
	*carrier
	trials
	stop    context.CancelFunc
	stopped chan struct{}

	inbox   inbox
	grounds map[string]*ground // by namespace
	alarms  alarms
	due     []*group
	// barred are groups whose budgets have no free slot, at the last look.
	barred map[*group]struct{}
}

// inbox is what has happened since the loop looked last.
type inbox struct {
	mu       sync.Mutex
	by       map[types.UID]*errand // all that are not dropped
	begun    []*errand
	left     []*errand
	touched  map[types.UID]struct{}
	relisted map[string]struct{} // namespaces
}

func startErrandLoop(ctx context.Context, d *Drainer) *errandLoop {
	ctx, stop := context.WithCancel(ctx)
	l := &errandLoop{
		carrier: newCarrier(d, newSignal(), maxErrandsInFlight, nil),
		trials:  newTrials(),
		stop:    stop, stopped: make(chan struct{}),
		inbox:   inbox{by: map[types.UID]*errand{}, touched: map[types.UID]struct{}{}, relisted: map[string]struct{}{}},
		grounds: map[string]*ground{},
		barred:  map[*group]struct{}{},
	}
	go func() {
		defer close(l.stopped)
		l.run(ctx)
	}()
	return l
}

// begin takes in an errand, unless there is one of that pod.
func (l *errandLoop) begin(e *errand) bool {
	l.inbox.mu.Lock()
	defer l.inbox.mu.Unlock()
	if l.inbox.by[e.uid] != nil {
		return false
	}
	l.inbox.by[e.uid] = e
	l.inbox.begun = append(l.inbox.begun, e)
	l.wake.poke()
	return true
}

// end is told when a caller has left.
func (l *errandLoop) end(e *errand) {
	l.inbox.mu.Lock()
	defer l.inbox.mu.Unlock()
	l.inbox.left = append(l.inbox.left, e)
	l.wake.poke()
}

// run works until ctx ends. All errands are dropped by then.
func (l *errandLoop) run(ctx context.Context) {
	for ctx.Err() == nil {
		l.takeIn(ctx)
		now := l.d.config.Clock.Now()
		wake := l.look(now)
		l.ring(now)
		l.work()
		if a, came := l.wait(ctx, earlier(wake, l.alarms.next()), now); came {
			l.learn(a)
		}
	}
	l.flights.Wait()
}

// work decides about the groups that are due, as long as there is room for what they send.
func (l *errandLoop) work() {
	for len(l.due) > 0 && l.inFlight < maxErrandsInFlight {
		g := l.due[0]
		l.due = l.due[1:]
		g.queued = false
		switch {
		case len(g.members) == 0:
		case l.d.config.Clock.Now().Before(g.rests):
			l.alarms.set(g, g.rests)
		default:
			l.decide(g)
		}
	}
}

// learnAll takes in the answers that have come.
func (l *errandLoop) learnAll() {
	for {
		select {
		case a := <-l.answers:
			l.learn(a)
		default:
			return
		}
	}
}

func (l *errandLoop) learn(a answered) {
	now := l.d.config.Clock.Now()
	e := l.find(a.pod.UID)
	l.learned(a, !e.ended, now, rand.Float64())
	l.announce(e.live, a, now)
	if e.ended {
		l.drop(e)
		return
	}
	l.queue(e.group)
}

func (l *errandLoop) find(uid types.UID) *errand {
	l.inbox.mu.Lock()
	defer l.inbox.mu.Unlock()
	return l.inbox.by[uid]
}

// queue makes a group due.
func (l *errandLoop) queue(g *group) {
	if !g.queued {
		g.queued = true
		l.due = append(l.due, g)
	}
}

// ring makes the groups due whose time has come, or whose budget may have a slot for them.
func (l *errandLoop) ring(now time.Time) {
	for g := range l.alarms.due(now) {
		l.queue(g)
	}
	for g := range l.barred {
		if until, busy := l.slotOf(g); busy {
			l.alarms.set(g, until)
		} else {
			l.queue(g)
		}
	}
}
