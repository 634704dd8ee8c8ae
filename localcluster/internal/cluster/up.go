// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/nodes"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Request says what cluster there should be.
type Request struct {
	// Configure changes a configuration to what is asked for: that of the
	// existing cluster, or the default one.
	Configure func(*state.Config)
	// Source and Cache are where the control plane comes from.
	Source fs.FS
	Cache  string
	// ID is what a new cluster is known by; without one, it gets one by chance.
	ID string
	// Timeout is for the start alone, not for building the control plane.
	Timeout time.Duration
}

// DefaultConfig is the cluster that nobody has asked anything special of.
func DefaultConfig() state.Config {
	return state.Config{
		Nodes:          3,
		NodeNamePrefix: "worker-",
		NodeCapacity:   map[string]string{"cpu": "16", "memory": "64Gi", "ephemeral-storage": "200Gi", "pods": "250"},
	}
}

// Up starts what is missing of the cluster and returns when it is ready. If it
// fails, it stops what it has started; logs stay until Down.
func (c *Cluster) Up(ctx context.Context, request Request) (*Facts, error) {
	built, err := build.Ensure(ctx, request.Cache, request.Source, c.report)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, request.Timeout, fmt.Errorf("not ready within %s", request.Timeout))
	defer cancel()

	madeDir, err := makeDir(c.dir)
	if err != nil {
		return nil, err
	}
	lock, err := state.Acquire(ctx, c.dir)
	if err != nil {
		return nil, err
	}
	defer lock.Release()

	st, err := c.loadOrCreate(ctx, request, madeDir)
	if err != nil {
		return nil, err
	}
	launch := newLaunch(c, st, built)
	if err := launch.everything(ctx); err != nil {
		launch.undo()
		return nil, err
	}
	return c.facts(ctx, st), nil
}

func (c *Cluster) loadOrCreate(ctx context.Context, request Request, madeDir bool) (*state.State, error) {
	st, err := state.Load(c.dir)
	if isNone(err) {
		config := DefaultConfig()
		request.Configure(&config)
		return create(ctx, c.dir, config, request.ID, madeDir)
	}
	if err != nil {
		return nil, err
	}
	wanted := st.Config
	request.Configure(&wanted)
	if isAlive(st) && !wanted.SameControlPlane(st.Config) {
		return nil, fmt.Errorf("the cluster in %s: %w", c.dir, ErrDifferent)
	}
	wanted.Nodes = max(wanted.Nodes, st.Config.Nodes) // nodes are never taken away
	st.Config = wanted
	return st, nil
}

func isAlive(st *state.State) bool {
	return slices.ContainsFunc(st.Components, func(c state.Component) bool { return c.Process.Alive() })
}

// everything starts the components in the order in which they need each other.
func (l *launch) everything(ctx context.Context) error {
	st, report := l.state, l.cluster.report
	st.Binaries, st.KubernetesVersion = l.built.Binaries, l.built.Version
	if err := writeSettings(l.cluster.dir, st); err != nil {
		return err
	}
	if err := st.Save(l.cluster.dir); err != nil {
		return err
	}
	for _, name := range []string{component.Etcd, component.APIServer} {
		if err := l.ensure(ctx, name); err != nil {
			return err
		}
	}
	group, groupContext := errgroup.WithContext(ctx)
	for _, name := range []string{component.ControllerManager, component.Scheduler, component.Kwok} {
		group.Go(func() error { return l.ensure(groupContext, name) })
	}
	group.Go(func() error { return l.awaitUsable(groupContext) })
	if err := group.Wait(); err != nil {
		return err
	}
	st.Established = true
	if len(l.started) == 0 {
		report.Step("the cluster already runs")
	} else {
		report.Step("the cluster is ready")
	}
	return st.Save(l.cluster.dir)
}

// awaitUsable returns when pods can be created and scheduled.
func (l *launch) awaitUsable(ctx context.Context) error {
	api, err := l.cluster.API(l.state)
	if err != nil {
		return err
	}
	if err := nodes.Ensure(ctx, api, l.state.Config); err != nil {
		return err
	}
	if err := nodes.AwaitReady(ctx, api, l.state.Config); err != nil {
		return fmt.Errorf("%w%s", err, l.cluster.quote(component.Kwok))
	}
	l.cluster.report.Step("%d nodes are ready", l.state.Config.Nodes)
	return l.awaitServiceAccount(ctx, api)
}
