// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// settleFor limits the wait for the answers to sent evictions once the drain has been stopped.
const settleFor = 5 * time.Second

// run is the loop of one Drain: it gathers the facts, decides, performs and waits. All its fields belong to the loop.
type run struct {
	*engine
	req Request

	node    *watchstore.Store[*corev1.Node]
	pods    *watchstore.Store[*corev1.Pod]
	budgets map[string]*guarding
	rules   map[string]*ruleWatch
	joined  map[string]time.Time // begin of a namespace's watches
	began   time.Time

	memory
}

func newRun(d *Drainer, req Request) *run {
	e := newEngine(d, maxInFlight, req.GracePeriodSeconds)
	r := &run{
		engine:  e,
		req:     req,
		node:    newStore(toNode, e.wake),
		pods:    newStore(toPod, e.wake),
		budgets: map[string]*guarding{},
		rules:   map[string]*ruleWatch{},
		joined:  map[string]time.Time{},
		memory:  newMemory(),
	}
	e.learn = func(a answered, now time.Time) { r.learned(a, now, rand.Float64()) }
	return r
}

// drain watches and loops until the node is drained or ctx ends. It leaves nothing running.
func (r *run) drain(ctx context.Context, reporter *statusReporter) error {
	watching, stop := context.WithCancel(ctx)
	var watches sync.WaitGroup
	client, name := r.d.config.Pods, r.req.NodeName
	watches.Go(func() { r.node.Run(watching, nodeSource(client, name)) })
	watches.Go(func() { r.pods.Run(watching, podSource(client, corev1.NamespaceAll, onNode(name))) })
	r.began = r.d.config.Clock.Now()
	if reader := r.d.config.Responders; reader != nil {
		watches.Go(func() { reader.Follow(watching, r.wakeFor) })
	}
	wire, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer func() {
		r.settle(cut)
		r.finalStatus(reporter)
		stop()
		watches.Wait()
		r.join(ctx, nil)
	}()
	return r.loop(ctx, wire, reporter)
}

func (r *run) loop(ctx, wire context.Context, reporter *statusReporter) error {
	for r.learnAll(); ctx.Err() == nil; r.learnAll() {
		f := r.gather(ctx)
		p := decide(f)
		r.keep(p.notes)
		if neverThere := !r.nodeSeen && p.status.Total == 0 && len(p.status.Left) == 0; p.status.Reached && neverThere {
			return fmt.Errorf("drain: there is no node %q", r.req.NodeName)
		}
		reporter.offer(p.status)
		if p.status.Reached && !r.req.Hold {
			return nil
		}
		wake := p.wake
		for _, s := range p.evict {
			wake = earlier(wake, r.launch(ctx, wire, s, &r.trials))
		}
		switch {
		case len(p.resolve) > 0:
			r.resolve(ctx, p.resolve)
		case p.confirm:
			r.confirm(ctx, f)
		default:
			r.wait(ctx, wake)
		}
	}
	return context.Cause(ctx)
}

// wakeFor wakes the loop if the responders of a present pod may have changed; no pods: of any pod. A new pod wakes it anyway.
func (r *run) wakeFor(pods ...types.UID) {
	if len(pods) == 0 || slices.ContainsFunc(pods, r.pods.Has) {
		r.wake.Poke()
	}
}

// finalStatus reports the effect of requests that were in flight when the drain was stopped.
func (r *run) finalStatus(reporter *statusReporter) {
	if s := reporter.offered; len(r.overridden) > len(s.Overridden) {
		s.Overridden = r.overridden
		reporter.offer(s)
	}
}

// settle waits for the evictions in flight, and cuts them off if that takes long.
func (r *run) settle(cut context.CancelFunc) {
	defer cut()
	timer := r.d.config.Clock.NewTimer(settleFor)
	defer timer.Stop()
	for r.inFlight > 0 {
		select {
		case a := <-r.answers:
			r.take(a)
		case <-timer.C():
			cut()
		}
	}
	r.flights.Wait()
}
