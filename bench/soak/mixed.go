// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"net"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/proc"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

const (
	// warmUp is the share of the time after which the controller is looked at first. What records core
	// Events remembers thousands of them, to count those that come again: that takes most of its growth,
	// until it is full, about half an hour after such a load has begun.
	warmUp = 2
	// looks is how many times it is looked at while there is load.
	looks = 60
)

// measureMixed keeps drains, returns, EvictionRequests and maintenances going, and compares the controller
// after half of the time with that at the end.
func (g *stage) measureMixed(ctx context.Context) (r mixedResults, err error) {
	s := g.settings
	r = mixedResults{Kubernetes: g.cluster.Version, Nodes: s.nodes, Pods: s.nodes * s.podsPerNode, Minutes: s.mixed.Minutes(), Seed: s.seed}
	if err := g.cluster.InstallEvictions(ctx); err != nil {
		return r, err
	}
	if err := g.fill(ctx); err != nil {
		return r, err
	}
	if err := g.startForMixed(ctx); err != nil {
		return r, err
	}
	j := &judge{keep: auditcheck.Wanted}
	load, err := newLoad(g)
	if err != nil {
		return r, err
	}
	ctx, stop := g.controller.While(ctx)
	defer stop()
	defer func() { err = g.withLog(err) }()
	if err := load.keepUp(ctx, s.mixed/warmUp); err != nil {
		return r, err
	}
	if r.Start, err = g.settled(ctx); err != nil {
		return r, err
	}
	r.Looks = append(r.Looks, r.Start)
	looking := g.look(ctx, &r, j)
	err = load.keepUp(ctx, s.mixed-s.mixed/warmUp)
	if lookErr := looking(); err == nil {
		err = lookErr
	}
	if err != nil {
		return r, err
	}
	if r.End, err = g.settled(ctx); err != nil {
		return r, err
	}
	r.Looks, r.Done = append(r.Looks, r.End), load.done()
	r.Broken, err = g.judged(ctx, j, auditcheck.Options{})
	return r, err
}

func (g *stage) startForMixed(ctx context.Context) (err error) {
	if g.address, err = freeAddress(ctx); err != nil {
		return err
	}
	g.controller, err = controller.Start(ctx, g.cluster, controller.Options{
		Binary: g.settings.controller, Dir: g.dir, Config: []string{"rbac/central", "rbac/evictions", "admission/evictions"},
		Flags: []string{"--claim-mode=central", "--eviction-requests", "--metrics-bind-address=" + g.address},
	})
	if err != nil {
		return err
	}
	nodes := g.cluster.Nodes
	_, err = g.carryOut(ctx, returnTransition, nodes[len(nodes)-1:])
	return err
}

// freeAddress is one of this machine that nobody listens at.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// settled looks at the controller after nothing was asked of it for a while.
func (g *stage) settled(ctx context.Context) (look, error) {
	g.say("at rest for %s", g.settings.settle)
	timer := time.NewTimer(g.settings.settle)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
		return look{}, context.Cause(ctx)
	}
	l, err := g.lookNow(ctx)
	g.say("the controller at rest: %s, %d goroutines, %s alive", mib(l.RSSKiB), l.Goroutines, mib(l.LiveKiB))
	return l, err
}

// lookNow looks at the controller.
func (g *stage) lookNow(ctx context.Context) (l look, err error) {
	if l.Self, err = meter.ReadSelf(ctx, g.address); err != nil {
		return l, err
	}
	if l.RSSKiB, err = g.controller.Memory("VmRSS"); err != nil {
		return l, err
	}
	l.Minute = time.Since(g.began).Minutes()
	l.CPUSeconds, err = proc.CPU(g.controller.PID())
	return l, err
}

// look looks at the controller from time to time, and reads the audit log meanwhile, until it is told to
// end.
func (g *stage) look(ctx context.Context, r *mixedResults, j *judge) (end func() error) {
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ticker := time.NewTicker(max(g.settings.mixed/looks, time.Second))
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				ended <- nil
				return
			case <-ticker.C:
			}
			l, err := g.lookNow(ctx)
			if err == nil {
				r.Looks = append(r.Looks, l)
				_, err = j.read(g.cluster.AuditLog)
			}
			if err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
		}
	}()
	return func() error {
		stop()
		return <-ended
	}
}
