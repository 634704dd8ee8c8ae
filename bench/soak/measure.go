// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/test/auditcheck"
)

func (g *stage) measure(ctx context.Context) (results, error) {
	r := results{Scenario: "central", Nodes: g.settings.nodes, Pods: g.settings.nodes * podsPerNode, LimitMiB: g.settings.limit}
	if err := g.start(ctx); err != nil {
		return r, err
	}
	g.say("the controller has been started: it returns a node, which shows that it works")
	nodes := g.cluster.Nodes
	if _, err := g.carryOut(ctx, returnTransition, nodes[len(nodes)-1:]); err != nil {
		return r, err
	}
	rest, err := g.rest(ctx)
	if err != nil {
		return r, err
	}
	r.Steps = append(r.Steps, rest)
	var drained []string
	for _, n := range g.settings.steps {
		step, err := g.drain(ctx, nodes[len(drained):len(drained)+n])
		if err != nil {
			return r, err
		}
		drained = nodes[:len(drained)+n]
		r.Steps = append(r.Steps, step)
	}
	if r.PeakKiB, err = g.controller.Memory("VmHWM"); err != nil {
		return r, err
	}
	for _, s := range r.Steps { // the kernel's own count may be some pages behind
		r.PeakKiB = max(r.PeakKiB, s.MostKiB)
	}
	requests, broken, err := g.judged(ctx, auditcheck.Options{Cordoned: drained})
	if err != nil {
		return r, err
	}
	r.Broken = broken
	for i := range r.Steps {
		r.Steps[i].count(requests)
	}
	return r, nil
}

// rest watches the controller while nothing is asked of it.
func (g *stage) rest(ctx context.Context) (step, error) {
	s := step{began: time.Now()}
	g.say("at rest for %s", g.settings.rest)
	watcher := watchMemory(ctx, g.controller)
	timer := time.NewTimer(g.settings.rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	err := g.finish(&s, watcher)
	return s, err
}

// drain drains the nodes, all at once.
func (g *stage) drain(ctx context.Context, nodes []string) (s step, err error) {
	g.say("draining %d nodes at once", len(nodes))
	s = step{Nodes: len(nodes), began: time.Now()}
	watcher := watchMemory(ctx, g.controller)
	s.AtOnce, err = g.carryOut(ctx, drainTransition, nodes)
	if err != nil {
		_, _ = watcher.end()
		return s, fmt.Errorf("%w; the controller's log:\n%s", err, g.controller.Tail())
	}
	err = g.finish(&s, watcher)
	return s, err
}

func (g *stage) finish(s *step, w *watcher) (err error) {
	s.ended = time.Now()
	s.Seconds = s.ended.Sub(s.began).Seconds()
	if s.MostKiB, err = w.end(); err != nil {
		return err
	}
	g.say("%d nodes, %d of them at a time: %.1f s, %s", s.Nodes, s.AtOnce, s.Seconds, mib(s.MostKiB))
	return nil
}
