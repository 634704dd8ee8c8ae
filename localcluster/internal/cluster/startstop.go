// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Stop ends one component, or with abruptly kills it as a crash would. The rest
// of the cluster stays.
func (c *Cluster) Stop(ctx context.Context, name string, abruptly bool) error {
	if _, _, isNode := realnode.SplitComponent(name); !isNode && !slices.Contains(component.Names(), name) {
		return unknown(name, component.Names())
	}
	return c.change(ctx, func(st *state.State) error {
		if _, err := c.component(name, st, nil); err != nil {
			return err
		}
		recorded, found := st.Component(name)
		if !found || !recorded.Process.Alive() {
			c.report.Step("%s is not running", name)
			return nil
		}
		c.report.Step("stopping %s, process %d", name, recorded.Process.PID)
		return stop(ctx, recorded.Process, stopGrace, abruptly)
	})
}

func stop(ctx context.Context, running process.Identity, grace time.Duration, abruptly bool) error {
	if abruptly {
		return process.Kill(running)
	}
	return process.Stop(ctx, running, grace)
}

// Start starts one component and returns when it is well.
func (c *Cluster) Start(ctx context.Context, name string, request Request) error {
	built, err := build.Ensure(ctx, request.Cache, request.Source, c.report)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, request.Timeout, fmt.Errorf("not well within %s", request.Timeout))
	defer cancel()
	return c.change(ctx, func(st *state.State) error {
		if err := newLaunch(c, st, built).ensure(ctx, name); err != nil {
			return err
		}
		c.report.Step("%s is running", name)
		return nil
	})
}

// StopPod ends the process that stands for a pod.
func (c *Cluster) StopPod(ctx context.Context, namespace, name string, abruptly bool) error {
	return c.change(ctx, func(st *state.State) error {
		recorded, found := st.Pod(namespace, name)
		if !found || !recorded.Process.Alive() {
			c.report.Step("pod %s/%s has no process", namespace, name)
			return nil
		}
		c.report.Step("stopping the process of pod %s/%s", namespace, name)
		return errors.Join(
			stop(ctx, recorded.Process, podGrace, abruptly),
			process.KillStrays(podMarker(namespace, name, st)),
		)
	})
}

// change does something with the state under the lock, and saves the state.
func (c *Cluster) change(ctx context.Context, do func(*state.State) error) error {
	if _, err := state.Load(c.dir); err != nil {
		return err
	}
	lock, err := state.Acquire(ctx, c.dir)
	if err != nil {
		return err
	}
	defer lock.Release()
	st, err := state.Load(c.dir)
	if err != nil {
		return err
	}
	if err := do(st); err != nil {
		return err
	}
	return st.Save(c.dir)
}
