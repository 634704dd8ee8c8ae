// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// measure measures the controller, and then agents; the audit log judges both.
func (g *stage) measure(ctx context.Context) (results, error) {
	s := g.settings
	r := results{
		Scenario: "central", Conditions: conditions{Kubernetes: g.cluster.Version},
		Nodes: s.nodes, Pods: s.nodes * s.podsPerNode, LimitMiB: s.limit,
	}
	if err := g.measureSizes(ctx, &r); err != nil {
		return r, err
	}
	if err := g.grow(ctx, s.nodes); err != nil {
		return r, err
	}
	if err := g.fill(ctx); err != nil {
		return r, err
	}
	drained, err := g.measureController(ctx, &r)
	if err != nil {
		return r, g.withLog(err)
	}
	byAgents, err := g.measureAgents(ctx, &r, g.cluster.Nodes[len(drained):])
	if err != nil {
		return r, err
	}
	j := &judge{}
	if r.Broken, err = g.judged(ctx, j, auditcheck.Options{Cordoned: slices.Concat(drained, byAgents)}); err != nil {
		return r, err
	}
	requests := j.requests
	for i := range r.Rest {
		r.Rest[i].count(requests, controller.User)
	}
	for i := range r.Steps {
		r.Steps[i].count(requests, controller.User)
	}
	if r.Agents != nil {
		r.Agents.count(requests)
	}
	return r, nil
}

// measureSizes watches controllers at rest, each in a cluster of another size.
func (g *stage) measureSizes(ctx context.Context, r *results) error {
	for _, size := range g.settings.sizes {
		if err := g.grow(ctx, size); err != nil {
			return err
		}
		rest, err := g.controllerAtRest(ctx, 0)
		if err != nil {
			return err
		}
		r.Rest = append(r.Rest, rest)
		if err := g.stop(); err != nil {
			return err
		}
	}
	return nil
}

// measureController watches the controller at rest, and while it drains nodes. It returns which.
func (g *stage) measureController(ctx context.Context, r *results) (drained []string, err error) {
	rest, err := g.controllerAtRest(ctx, r.Pods)
	if err != nil {
		return nil, err
	}
	r.Rest = append(r.Rest, rest)
	r.Steps = append(r.Steps, step{measured: rest.measured})
	ctx, stop := g.controller.While(ctx)
	defer stop()
	for _, n := range g.settings.steps {
		s, err := g.drain(ctx, g.controller.PID(), g.cluster.Nodes[len(drained):len(drained)+n])
		if err != nil {
			return drained, err
		}
		drained = g.cluster.Nodes[:len(drained)+n]
		r.Steps = append(r.Steps, s)
	}
	if r.PeakKiB, err = g.controller.Memory("VmHWM"); err != nil {
		return drained, err
	}
	for _, s := range r.Steps { // the kernel's own count may be some pages behind
		r.PeakKiB = max(r.PeakKiB, s.MostKiB)
	}
	return drained, g.stop()
}

// controllerAtRest starts a controller, sees that it works, and watches it.
func (g *stage) controllerAtRest(ctx context.Context, pods int) (atRest, error) {
	size := len(g.cluster.Nodes)
	r := atRest{Size: size, Pods: pods}
	if err := g.start(ctx); err != nil {
		return r, err
	}
	ctx, stop := g.controller.While(ctx)
	defer stop()
	g.say("the controller of %d nodes has been started: it returns one, which shows that it works", size)
	if _, err := g.carryOut(ctx, returnTransition, g.cluster.Nodes[size-1:]); err != nil {
		return r, err
	}
	return r, g.rest(ctx, &r, g.controller.PID())
}

// rest watches a process while nothing is asked of it.
func (g *stage) rest(ctx context.Context, r *atRest, pid int) error {
	g.say("at rest for %s", g.settings.rest)
	watcher, err := g.watchProcess(ctx, pid)
	if err != nil {
		return err
	}
	timer := time.NewTimer(g.settings.rest)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	if err := watcher.end(ctx, &r.measured); err != nil {
		return err
	}
	if err := watcher.collected(ctx, &r.measured); err != nil {
		return err
	}
	g.say("%d at rest: %s, %.2f s of CPU time, %d bytes received", r.Size, mib(r.MostKiB), r.Used.CPUSeconds, r.Used.Received)
	return nil
}

// drain drains the nodes, all at once, and watches the process that does it.
func (g *stage) drain(ctx context.Context, pid int, nodes []string) (s step, err error) {
	g.say("draining %d nodes at once", len(nodes))
	s = step{Nodes: len(nodes)}
	watcher, err := g.watchProcess(ctx, pid)
	if err != nil {
		return s, err
	}
	s.AtOnce, err = g.carryOut(ctx, drainTransition, nodes)
	if err != nil {
		watcher.stop()
		return s, err
	}
	if err := watcher.end(ctx, &s.measured); err != nil {
		return s, err
	}
	g.say("%d nodes, %d of them at a time: %.1f s, %s, %.1f s of CPU time", s.Nodes, s.AtOnce, s.Seconds, mib(s.MostKiB), s.Used.CPUSeconds)
	return s, nil
}
