// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"
)

// carrier sends what has been decided, and brings the answers. All its fields belong to the loop that decides.
type carrier struct {
	d     *Drainer
	wake  signal
	grace *int64
	// opened are the budgets that are open, for the observer.
	opened openings

	answers chan answered
	flights sync.WaitGroup
}

// newCarrier is for so many requests at a time.
func newCarrier(d *Drainer, wake signal, most int, grace *int64) *carrier {
	return &carrier{d: d, wake: wake, grace: grace, opened: openings{}, answers: make(chan answered, most)}
}

// reserve takes the slot of the budget that a request needs. If it is not free any more, until is when to look again at
// the latest; zero: there will be a wake-up.
func (c *carrier) reserve(s send) (until time.Time, free bool) {
	if s.budget == nil || c.d.ledger.take(s.budget, s.pod.Name, c.wake) {
		return time.Time{}, true
	}
	until, _ = c.d.ledger.busy(s.budget, c.wake)
	return until, false
}

// carry sends a request while live lasts. Once sent, it ends with wire at the latest. The answer comes to wait.
func (c *carrier) carry(live, wire context.Context, s send) {
	c.flights.Go(func() {
		a := c.request(live, wire, s)
		c.answers <- answered{a, s.pod, s.by, s.budget} // never blocks: it has room for all
		if s.budget != nil {                            // after the answer, so that no next eviction is decided on without it
			if a.outcome == budgetRefused {
				c.d.ledger.lose(s.budget, s.pod.Name)
			}
			c.d.ledger.settle(s.budget.UID, s.counts && a.outcome == accepted)
		}
	})
}

// request sends, and sorts the answer. That wire was cut says nothing of the server.
func (c *carrier) request(live, wire context.Context, s send) answer {
	a := c.ask(live, wire, s)
	if a.outcome == unavailable && wire.Err() != nil {
		return answer{outcome: notSent}
	}
	return a
}

func (c *carrier) ask(live, wire context.Context, s send) answer {
	switch s.by {
	case byDeletion:
		return interpretDeletion(c.d.evictor.remove(live, wire, s.pod, c.grace), s.pod)
	case byKill:
		return interpretDeletion(c.d.evictor.remove(live, wire, s.pod, new(int64(1))), s.pod)
	default:
		return interpret(c.d.evictor.evict(live, wire, s.pod, c.grace), s.pod, s.guards)
	}
}

// wait returns when there is something new to look at. If that is an answer, it came.
func (c *carrier) wait(ctx context.Context, until, now time.Time) (a answered, came bool) {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := c.d.config.Clock.NewTimer(until.Sub(now))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-c.wake:
	case <-alarm:
	case a = <-c.answers:
		return a, true
	}
	return answered{}, false
}

// announce tells what became of a request: the log, the observer and Config.OnEvicted.
func (c *carrier) announce(ctx context.Context, a answered, now time.Time) {
	c.observe(a, now)
	log := klog.FromContext(ctx).V(1).WithValues("pod", klog.KObj(a.pod), "node", a.pod.Spec.NodeName)
	switch {
	case a.outcome == accepted && a.by != byEviction:
		log.Info("Deleted pod")
	case a.outcome == accepted:
		log.Info("Evicted pod")
		if c.d.config.OnEvicted != nil {
			c.d.config.OnEvicted(types.NamespacedName{Namespace: a.pod.Namespace, Name: a.pod.Name})
		}
	case a.refusal != nil:
		log.Info("Eviction not accepted", "reason", a.refusal.reason, "message", a.refusal.message)
	}
}
