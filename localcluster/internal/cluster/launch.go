// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/kubeapi"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

var (
	errEnded    = errors.New("ended by itself")
	errPortUsed = errors.New("its port is taken")
)

// launch is one attempt to bring a cluster up.
type launch struct {
	cluster *Cluster
	built   *build.Built

	// mu guards what follows: several components are started at a time.
	mu      sync.Mutex
	state   *state.State
	started []process.Identity
}

func newLaunch(c *Cluster, st *state.State, built *build.Built) *launch {
	return &launch{cluster: c, built: built, state: st}
}

// ensure returns when the component runs and is well. Before the cluster has
// been ready for the first time, a port that somebody else was quicker to take
// is replaced by another.
func (l *launch) ensure(ctx context.Context, name string) error {
	const attempts = 3
	for attempt := 1; ; attempt++ {
		err := l.ensureOnce(ctx, name)
		if !errors.Is(err, errPortUsed) || l.state.Established || attempt == attempts {
			return err
		}
		l.cluster.report.Step("%s: %v; trying another", name, errPortUsed)
		if err := l.changePorts(ctx, name); err != nil {
			return err
		}
	}
}

func (l *launch) ensureOnce(ctx context.Context, name string) error {
	running, wanted, err := l.startUnlessAlive(name)
	if err != nil {
		return err
	}
	if err := awaitHealth(ctx, running, wanted.Health); err != nil {
		if errors.Is(ctx.Err(), context.Canceled) {
			return fmt.Errorf("interrupted while starting %s: %w", name, ctx.Err())
		}
		if errors.Is(err, errEnded) && l.portWasTaken(name) {
			err = errPortUsed
		}
		return fmt.Errorf("%s: %w%s", name, err, l.cluster.quote(name))
	}
	l.cluster.report.Step("%s is well", name)
	return nil
}

// startUnlessAlive starts the component if it does not run.
func (l *launch) startUnlessAlive(name string) (process.Identity, component.Component, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	wanted, err := l.cluster.component(name, l.state, l.built)
	if err != nil {
		return process.Identity{}, wanted, err
	}
	if recorded, found := l.state.Component(name); found && recorded.Process.Alive() {
		return recorded.Process, wanted, nil
	}
	l.cluster.report.Step("starting %s", name)
	log := l.cluster.dir.Log(name)
	program := wanted.Program
	if program == "" {
		program = filepath.Join(l.state.Binaries, name)
	}
	started, err := process.Start(process.Spec{
		Path: program, Args: wanted.Args,
		Env: l.cluster.componentEnvironment(name, l.state), Dir: string(l.cluster.dir), Log: log,
	})
	if err != nil {
		return process.Identity{}, wanted, err
	}
	l.started = append(l.started, started)
	l.state.SetComponent(state.Component{Name: name, Process: started, Log: log})
	return started, wanted, l.state.Save(l.cluster.dir)
}

func (l *launch) portWasTaken(name string) bool {
	end, err := tail(l.cluster.dir.Log(name))
	return err == nil && strings.Contains(end, "address already in use")
}

func (l *launch) changePorts(ctx context.Context, name string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := assignPorts(ctx, l.state, name); err != nil {
		return err
	}
	// So that the next attempt does not find the last one's complaint.
	if err := os.Remove(l.cluster.dir.Log(name)); err != nil {
		return fmt.Errorf("begin a new log for %s: %w", name, err)
	}
	if name == component.Etcd {
		// An etcd that has begun to store remembers its old address.
		if err := os.RemoveAll(l.cluster.dir.EtcdData()); err != nil {
			return fmt.Errorf("begin anew with etcd: %w", err)
		}
	}
	return writeSettings(l.cluster.dir, l.state)
}

// undo stops what this launch has started.
func (l *launch) undo() {
	var stopping sync.WaitGroup
	for _, started := range l.started {
		stopping.Go(func() {
			// Whoever asked is being told a worse error already.
			_ = process.Stop(context.Background(), started, partingGrace)
		})
	}
	stopping.Wait()
}

// awaitHealth returns when the component is well, and fails when it ends or
// when ctx is done.
func awaitHealth(ctx context.Context, running process.Identity, health component.Health) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	var reason error
	for {
		err := health.Probe(ctx)
		if err == nil && running.Alive() {
			return nil
		}
		if ctx.Err() == nil || reason == nil { // that time is up explains nothing
			reason = err
		}
		if !running.Alive() {
			return errEnded
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), reason)
		case <-ticker.C:
		}
	}
}

// awaitServiceAccount returns when the controller-manager has made the service
// account without which no pod can be created.
func (l *launch) awaitServiceAccount(ctx context.Context, api *kubeapi.Client) error {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		err := api.Get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("no default service account: %w: %w%s",
				context.Cause(ctx), err, l.cluster.quote(component.ControllerManager))
		case <-ticker.C:
		}
	}
}
