// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/test/auditcheck"
)

// limit bounds the time of one drain, with its preparation: a contender that hangs ends the benchmark. A fleet by
// kubectl takes half an hour.
const limit = 40 * time.Minute

// bench runs drains on a cluster.
type bench struct {
	cluster *testbed.Cluster
	seed    uint64
	count   int
}

// run creates the workload, drains it, and removes it. The audit log shows what happened.
func (b *bench) run(ctx context.Context, s Scenario, who contender, repetition int) (r Run, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took more than %s", limit))
	defer cancel()
	if _, err := b.cluster.LoggedRequests(); err != nil {
		return r, err
	}
	scene, err := b.create(ctx, s, repetition)
	if err != nil {
		return r, err
	}
	m := meter.Meter{Components: b.cluster.Components}
	before, err := m.Read(ctx)
	if err != nil {
		return r, err
	}
	times, err := who.drain(ctx, scene, s.Blocked)
	if err != nil {
		return r, err
	}
	after, err := m.Read(ctx)
	if err != nil {
		return r, err
	}
	if err := b.clear(ctx, s, who, scene); err != nil {
		return r, err
	}
	requests, err := b.cluster.Requests(ctx)
	if err != nil {
		return r, err
	}
	used := after.Since(before)
	r = measure(requests, drained{
		sent: who.sent, began: times.Began, ended: times.Ended, over: times.Over,
	})
	r.Scenario, r.Contender, r.Repetition, r.Bound = s.Key, who.name, repetition, s.bound(scene.apps).Seconds()
	r.CPU = CPU{used.MachineBusy, used.ComponentCPUSeconds}
	if who.name == Slipway {
		r.Broken = auditcheck.Check(requests, auditcheck.Options{})
	}
	return r, nil
}

// create creates the apps of a scenario, in a new namespace.
func (b *bench) create(ctx context.Context, s Scenario, repetition int) (scene, error) {
	b.count++
	nodes := b.cluster.Nodes[:s.Nodes]
	of := scene{
		namespace: fmt.Sprintf("bench-%s-%d", s.Key, b.count), apps: s.Apps(b.seed, repetition),
		drained: nodes[:s.Drained], fleet: s.Fleet,
	}
	for i := range of.apps {
		of.apps[i].Namespace, of.apps[i].Nodes = of.namespace, nodes
	}
	if err := b.cluster.Create(ctx, of.apps); err != nil {
		return of, err
	}
	for _, node := range of.drained {
		pods, err := b.cluster.PodsOn(ctx, of.namespace, node)
		if err != nil {
			return of, err
		}
		if len(pods) != s.PodsPerNode() {
			return of, fmt.Errorf("the scheduler has put %d pods on %s; want %d", len(pods), node, s.PodsPerNode())
		}
	}
	return of, nil
}

// clear checks that the nodes are empty if they should be, returns them, and removes the workload.
func (b *bench) clear(ctx context.Context, s Scenario, who contender, of scene) error {
	if s.Fleet == 0 {
		for _, node := range of.drained {
			left, err := b.cluster.PodsOn(ctx, of.namespace, node)
			if err != nil {
				return err
			}
			if s.Blocked == 0 && len(left) > 0 {
				return fmt.Errorf("%s has drained %s, and %d pods are left", who.name, node, len(left))
			}
		}
		if err := who.uncordon(ctx, of.drained); err != nil {
			return err
		}
	}
	return b.cluster.Remove(ctx, of.namespace, of.apps)
}

// open opens the cluster of a group of scenarios.
func open(ctx context.Context, group []Scenario, o testbed.Options, p *testbed.Progress, do func(*testbed.Cluster) error) error {
	o.Nodes, o.Evictions = most(group, func(s Scenario) int { return s.Nodes }), group[0].Surge
	return testbed.Run(ctx, o, p, do)
}

// warmUp drains empty nodes once: the measurement leaves out all that happens only the first time.
func warmUp(ctx context.Context, who contender, group []Scenario, nodes []string) error {
	s := scene{namespace: "default", drained: nodes[:most(group, func(s Scenario) int { return s.Drained })], fleet: group[0].Fleet}
	_, err := who.drain(ctx, s, 0)
	if err == nil && (s.fleet == 0 || who.name == Ideal) {
		err = who.uncordon(ctx, s.drained)
	}
	if err != nil {
		return fmt.Errorf("warm up %s: %w", who.name, err)
	}
	return nil
}

// startSlipway starts the programs that a group of scenarios needs, from a directory of binaries.
func startSlipway(ctx context.Context, c *testbed.Cluster, group []Scenario, bin string) (started []*testbed.Process, err error) {
	of, modes := group[0], []testbed.Mode(nil)
	switch {
	case of.Fleet > 0 || of.Central:
		modes = append(modes, testbed.Central)
	case of.Surge:
		modes = append(modes, testbed.Evicting)
		fallthrough
	default:
		nodes := c.Nodes[:most(group, func(s Scenario) int { return s.Drained })]
		if started, err = c.StartAgents(ctx, filepath.Join(bin, "node-agent"), nodes); err != nil {
			return nil, err
		}
	}
	if len(modes) > 0 {
		p, err := c.StartController(ctx, filepath.Join(bin, "controller"), nil, modes...)
		if err != nil {
			return nil, err
		}
		started = append(started, p)
	}
	return started, nil
}
