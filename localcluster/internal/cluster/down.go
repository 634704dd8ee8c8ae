// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/realnode"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// The grace periods of processes before they are killed.
const (
	stopGrace = 5 * time.Second
	podGrace  = 10 * time.Second
	// partingGrace is for components of a cluster that goes as a whole: the API server would
	// take a minute to end all watches.
	partingGrace = time.Second
)

// Stop ends one component, or with abruptly kills it as a crash would. The rest of the cluster continues.
func (c *Cluster) Stop(ctx context.Context, name string, abruptly bool) error {
	if _, _, isNode := realnode.SplitComponent(name); !isNode && !slices.Contains(component.Names(), name) {
		return unknown(name, component.Names())
	}
	return c.change(ctx, func(st *state.State) error {
		if _, err := c.component(name, st); err != nil {
			return err
		}
		return c.stop(ctx, name, st.Components[name], stopGrace, abruptly)
	})
}

// StopPod ends the process that stands for a pod.
func (c *Cluster) StopPod(ctx context.Context, namespace, name string, abruptly bool) error {
	return c.change(ctx, func(st *state.State) error {
		var running process.Identity
		if recorded := st.Pod(namespace, name); recorded != nil {
			running = recorded.Process
		}
		return errors.Join(
			c.stop(ctx, "pod "+namespace+"/"+name, running, podGrace, abruptly),
			process.KillStrays(podMarker(st, namespace, name)),
		)
	})
}

func (c *Cluster) stop(ctx context.Context, name string, running process.Identity, grace time.Duration, abruptly bool) error {
	if !running.Alive() {
		c.report.Step("%s is not running", name)
		return nil
	}
	c.report.Step("stopping %s, process %d", name, running.PID)
	if abruptly {
		return process.Kill(running)
	}
	return process.Stop(ctx, running, grace)
}

// Start starts one component and returns when it is healthy. With a version of Kubernetes, it upgrades the component; components
// that start later have that version, too.
func (c *Cluster) Start(ctx context.Context, name, version, cache string, timeout time.Duration) error {
	var upgraded *build.Built
	if version != "" {
		var err error
		if upgraded, err = build.EnsureControlPlane(ctx, cache, version, c.report); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not well within %s", timeout))
	defer cancel()
	return c.change(ctx, func(st *state.State) error {
		if upgraded != nil {
			st.Config.Kubernetes, st.Binaries, st.KubernetesVersion = version, upgraded.Binaries, upgraded.Version
		}
		return (&launch{cluster: c, state: st}).ensure(ctx, name)
	})
}

// Down ends every process of the cluster and removes every file. It returns false if there was
// no cluster. With an ID it spares a cluster with another, which was made later in the same
// directory.
func (c *Cluster) Down(ctx context.Context, id string) (bool, error) {
	entries, err := os.ReadDir(string(c.dir))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look into the cluster's directory: %w", err)
	}
	unlock, err := files.Lock(ctx, string(c.dir), c.report)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // another launcher was quicker
	}
	if err != nil {
		return false, err
	}
	defer unlock()
	st, err := state.Load(c.dir)
	if errors.Is(err, state.ErrNone) {
		return false, fmt.Errorf("%s: %w", c.dir, ErrNotOurs)
	}
	if err != nil {
		return false, err
	}
	if id != "" && st.ID != id {
		return false, nil
	}
	c.report.Step("stopping %d components and %d pods", len(st.Components), len(st.Pods))
	if err := stopEverything(ctx, st); err != nil {
		return false, err
	}
	if st.Node != nil {
		if err := c.realNode(st).Clean(ctx); err != nil {
			return false, err
		}
	}
	if err := removeFiles(c.dir, st.MadeDir); err != nil {
		return false, err
	}
	c.report.Step("the cluster is removed")
	return true, nil
}

// stopEverything stops pods while there is still an API server for their last requests, then all
// components at once.
func stopEverything(ctx context.Context, st *state.State) error {
	var pods []process.Identity
	for _, pod := range st.Pods {
		pods = append(pods, pod.Process)
	}
	return errors.Join(
		stopAll(ctx, pods, podGrace),
		stopAll(ctx, slices.Collect(maps.Values(st.Components)), partingGrace),
		process.KillStrays(marker(st)),
	)
}

func stopAll(ctx context.Context, processes []process.Identity, grace time.Duration) error {
	var stopping errgroup.Group
	for _, running := range processes {
		stopping.Go(func() error { return process.Stop(ctx, running, grace) })
	}
	return stopping.Wait()
}

// removeFiles removes the cluster's files, and the directory if it was made for the cluster and
// has no other files.
func removeFiles(dir state.Dir, madeDir bool) error {
	for _, name := range state.Owned() {
		path := filepath.Join(string(dir), name)
		if err := errors.Join(os.RemoveAll(files.Unfinished(path)), os.RemoveAll(path)); err != nil {
			return fmt.Errorf("remove the cluster's files: %w", err)
		}
	}
	if !madeDir {
		return nil
	}
	entries, err := os.ReadDir(string(dir))
	if err != nil || len(entries) > 0 {
		return err
	}
	if err := os.Remove(string(dir)); err != nil {
		return fmt.Errorf("remove the cluster's directory: %w", err)
	}
	return nil
}
