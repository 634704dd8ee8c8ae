// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// Down ends every process of the cluster and removes every file. It returns
// false if there was no cluster.
func (c *Cluster) Down(ctx context.Context) (bool, error) {
	return c.down(ctx, func(*state.State) bool { return true })
}

// DownOnly is Down for the cluster with this identity: one that somebody has
// made later in the same directory stays.
func (c *Cluster) DownOnly(ctx context.Context, id string) (bool, error) {
	return c.down(ctx, func(st *state.State) bool { return st.Marker == marker(id) })
}

func (c *Cluster) down(ctx context.Context, isMeant func(*state.State) bool) (bool, error) {
	entries, err := os.ReadDir(string(c.dir))
	if errors.Is(err, fs.ErrNotExist) || (err == nil && len(entries) == 0) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("look into the cluster's directory: %w", err)
	}
	lock, err := state.Acquire(ctx, c.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // somebody else was quicker
	}
	if err != nil {
		return false, err
	}
	defer lock.Release()
	st, err := state.Load(c.dir)
	if isNone(err) {
		return false, fmt.Errorf("%s: %w", c.dir, ErrNotOurs)
	}
	if err != nil {
		return false, err
	}
	if !isMeant(st) {
		return false, nil
	}
	c.report.Step("stopping %d components and %d pods", len(st.Components), len(st.Pods))
	if err := stopEverything(ctx, st); err != nil {
		return false, err
	}
	if err := c.cleanNodes(ctx, st); err != nil {
		return false, err
	}
	if err := removeFiles(c.dir, st.MadeDir); err != nil {
		return false, err
	}
	c.report.Step("the cluster is gone")
	return true, nil
}

// stopEverything stops pods while there is still an API server for their last
// words, then all components at once.
func stopEverything(ctx context.Context, st *state.State) error {
	pods := make([]process.Identity, 0, len(st.Pods))
	for _, pod := range st.Pods {
		pods = append(pods, pod.Process)
	}
	components := make([]process.Identity, 0, len(st.Components))
	for _, recorded := range st.Components {
		components = append(components, recorded.Process)
	}
	return errors.Join(
		stopAll(ctx, pods, podGrace),
		stopAll(ctx, components, partingGrace),
		process.KillStrays(st.Marker),
	)
}

func stopAll(ctx context.Context, processes []process.Identity, grace time.Duration) error {
	failed := make([]error, len(processes))
	var stopping sync.WaitGroup
	for i, stopped := range processes {
		stopping.Go(func() { failed[i] = process.Stop(ctx, stopped, grace) })
	}
	stopping.Wait()
	return errors.Join(failed...)
}

// removeFiles removes what a cluster makes, and the directory if it was made for
// the cluster and nothing else is in it.
func removeFiles(dir layout.Dir, madeDir bool) error {
	for _, name := range layout.Owned() {
		path := filepath.Join(string(dir), name)
		for _, left := range append(atomicfile.Leftovers(path), path) {
			if err := os.RemoveAll(left); err != nil {
				return fmt.Errorf("remove the cluster's files: %w", err)
			}
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
