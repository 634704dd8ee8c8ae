// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// engine is what the loop of a Drain and that of EvictPod share: it gathers what is known of budgets, sends what has been
// decided, and takes in the answers. All its fields belong to the loop.
type engine struct {
	d     *Drainer
	wake  watchstore.Signal
	grace *int64
	// learn takes in an answer.
	learn func(a answered, now time.Time)
	// opened are the budgets that are open, for the observer.
	opened openings

	answers chan answered
	flights sync.WaitGroup
}

// newEngine returns an engine that has at most this many requests in flight.
func newEngine(d *Drainer, most int, grace *int64) *engine {
	return &engine{d: d, wake: watchstore.NewSignal(), grace: grace, opened: openings{}, answers: make(chan answered, most)}
}

// answered is an answer with its request.
type answered struct {
	answer
	pod *corev1.Pod
	by  means
	// budget is the one that the eviction had reserved. Nil: none.
	budget *budget
}

// facts returns facts without any pod, at this moment.
func (e *engine) facts() facts {
	now := e.d.config.Clock.Now()
	return facts{
		now: now, ahead: e.d.config.ServerClock.Now().Sub(now),
		budgets: map[string][]*budget{}, guards: map[types.UID][]*budget{}, budgetsBad: map[string]bool{},
		reserved: map[types.UID]time.Time{},
	}
}

// gatherBudgets adds to the facts what is known of the budgets that guard these pods, all of one namespace.
func (e *engine) gatherBudgets(f *facts, g *guarding, namespace string, pods []*corev1.Pod) {
	budgets, of, known := g.among(pods, e.wake)
	if !known {
		f.budgetsBad[namespace] = g.Err() != nil
		return
	}
	f.budgets[namespace] = budgets
	maps.Copy(f.guards, of)
	for _, b := range budgets {
		if until, busy := e.d.queue.busy(b, e.wake); busy {
			f.reserved[b.UID] = until
		}
	}
}

// launch sends a request while live lasts; once sent, it ends with wire at the latest. It sends nothing if another loop
// has reserved the budget since the facts were gathered: then it returns when to look again at the latest; zero: when woken.
func (e *engine) launch(live, wire context.Context, s send, of *trials) (again time.Time) {
	if s.budget != nil && !e.d.queue.reserve(s.budget, s.pod.Name, e.wake) {
		again, _ = e.d.queue.busy(s.budget, e.wake)
		return again
	}
	of.sent(s)
	e.flights.Go(func() {
		a := e.request(live, wire, s)
		logAnswer(live, s, a)
		e.answers <- answered{a, s.pod, s.by, s.budget} // never blocks: it has room for all
		if s.budget != nil {                            // after the answer, so that no next eviction is decided on without it
			if a.outcome == budgetRefused {
				e.d.queue.refused(s.budget, s.pod.Name)
			}
			e.d.queue.settle(s.budget.UID, s.counts && a.outcome == accepted)
		}
	})
	return time.Time{}
}

// request sends, and sorts the answer. That wire was cut says nothing of the server.
func (e *engine) request(live, wire context.Context, s send) answer {
	var a answer
	switch s.by {
	case byDeletion:
		a = interpretDeletion(e.d.evictor.remove(live, wire, s.pod, e.grace), s.pod)
	case byKill:
		a = interpretDeletion(e.d.evictor.remove(live, wire, s.pod, new(int64(1))), s.pod)
	default:
		a = interpret(e.d.evictor.evict(live, wire, s.pod, e.grace), s.pod, s.guards)
	}
	if a.outcome == unavailable && wire.Err() != nil {
		return answer{outcome: notSent}
	}
	return a
}

func logAnswer(ctx context.Context, s send, a answer) {
	log := klog.FromContext(ctx).V(1).WithValues("pod", klog.KObj(s.pod), "node", s.pod.Spec.NodeName)
	switch {
	case a.outcome == accepted && s.by != byEviction:
		log.Info("Deleted pod")
	case a.outcome == accepted:
		log.Info("Evicted pod")
	case a.refusal != nil:
		log.Info("Eviction not accepted", "reason", a.refusal.reason, "message", a.refusal.message)
	}
}

// learnAll takes in the answers that have come. It goes before each decision: a caller who is told of an accepted eviction
// may want to stop.
func (e *engine) learnAll() {
	for {
		select {
		case a := <-e.answers:
			e.take(a)
		default:
			return
		}
	}
}

// wait returns when there is something new to look at, or at a time. Zero is never.
func (e *engine) wait(ctx context.Context, until time.Time) {
	var alarm <-chan time.Time
	if !until.IsZero() {
		timer := e.d.config.Clock.NewTimer(until.Sub(e.d.config.Clock.Now()))
		defer timer.Stop()
		alarm = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-e.wake:
	case <-alarm:
	case a := <-e.answers:
		e.take(a)
	}
}

// take takes in an answer, and tells the observer and Config.OnEvicted.
func (e *engine) take(a answered) {
	now := e.d.config.Clock.Now()
	e.learn(a, now)
	e.observe(a, now)
	if a.outcome == accepted && a.by == byEviction && e.d.config.OnEvicted != nil {
		e.d.config.OnEvicted(types.NamespacedName{Namespace: a.pod.Namespace, Name: a.pod.Name})
	}
}
