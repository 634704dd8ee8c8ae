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

// engine is the common part of the loops of Drain and EvictPod: it gathers budgets, sends requests, and receives the answers.
// All its fields belong to the loop.
type engine struct {
	d     *Drainer
	wake  watchstore.Signal
	grace *int64
	// learn records an answer.
	learn func(a answered, now time.Time)
	// opened are the open budgets, for the observer.
	opened openings

	answers chan answered
	flights sync.WaitGroup
}

// newEngine returns an engine with a limit of requests in flight.
func newEngine(d *Drainer, most int, grace *int64) *engine {
	return &engine{d: d, wake: watchstore.NewSignal(), grace: grace, opened: openings{}, answers: make(chan answered, most)}
}

// answered is an answer with its request.
type answered struct {
	answer
	pod *corev1.Pod
	by  means
	// budget is the reserved budget. Nil: none.
	budget *budget
}

// facts returns the facts of this moment, without any pod.
func (e *engine) facts() facts {
	now := e.d.config.Clock.Now()
	return facts{
		now: now, ahead: e.d.config.ServerClock.Now().Sub(now),
		budgets: map[string][]*budget{}, guards: map[types.UID][]*budget{}, budgetsBad: map[string]bool{},
		reserved: map[types.UID]time.Time{},
	}
}

// gatherBudgets adds the budgets that guard these pods, all of one namespace, to the facts.
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

// launch sends a request while live lasts; the sent request ends with wire at the latest. If another loop has reserved the
// budget meanwhile, launch sends no request and returns the time of the next look; zero: the queue wakes the loop.
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

// request sends, and sorts the answer. A failure after the end of wire is not the server's.
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

// learnAll receives the present answers. Each decision follows it: Config.OnEvicted may stop the drain.
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

// wait returns at the next event, or at a time. Zero: never.
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

// take records an answer, and reports it to the observer and to Config.OnEvicted.
func (e *engine) take(a answered) {
	now := e.d.config.Clock.Now()
	e.learn(a, now)
	e.observe(a, now)
	if a.outcome == accepted && a.by == byEviction && e.d.config.OnEvicted != nil {
		e.d.config.OnEvicted(types.NamespacedName{Namespace: a.pod.Namespace, Name: a.pod.Name})
	}
}
