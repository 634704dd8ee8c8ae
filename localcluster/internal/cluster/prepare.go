// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/slipway-k8s/slipway/localcluster/internal/atomicfile"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/layout"
	"github.com/slipway-k8s/slipway/localcluster/internal/ports"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

const privateDir = 0o700

func isNone(err error) bool { return errors.Is(err, state.ErrNone) }

// NewID returns an identity that no other cluster has.
func NewID() string { return rand.Text() }

func marker(id string) string { return markerName + "=" + id }

// makeDir makes the cluster's directory, and tells whether it was there.
func makeDir(dir layout.Dir) (made bool, err error) {
	_, err = os.Stat(string(dir))
	if err == nil {
		return false, nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("look at the cluster's directory: %w", err)
	}
	if err := os.MkdirAll(string(dir), privateDir); err != nil {
		return false, fmt.Errorf("make the cluster's directory: %w", err)
	}
	return true, nil
}

// create marks an empty directory as a cluster's and fills it with all that
// components need before the first of them starts.
func create(ctx context.Context, dir layout.Dir, config state.Config, id string, madeDir bool) (*state.State, error) {
	entries, err := os.ReadDir(string(dir))
	if err != nil {
		return nil, fmt.Errorf("look into the cluster's directory: %w", err)
	}
	if len(entries) > 0 {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotOurs)
	}
	if id == "" {
		id = NewID()
	}
	st := state.New(config, marker(id), madeDir)
	for _, name := range component.Names() {
		if err := assignPorts(ctx, st, name); err != nil {
			return nil, err
		}
	}
	// First of all: whatever happens next, the directory is known to be ours.
	if err := st.Save(dir); err != nil {
		return nil, err
	}
	for _, made := range []string{dir.PKI(), dir.Logs(), dir.KwokHome()} {
		if err := os.MkdirAll(made, privateDir); err != nil {
			return nil, fmt.Errorf("make a directory of the cluster: %w", err)
		}
	}
	return st, component.WriteIdentities(dir)
}

func assignPorts(ctx context.Context, st *state.State, name string) error {
	for _, port := range component.PortNames(name) {
		if err := pickPort(ctx, st, port); err != nil {
			return err
		}
	}
	return nil
}

func pickPort(ctx context.Context, st *state.State, name string) error {
	picked, err := ports.Pick(ctx)
	if err != nil {
		return fmt.Errorf("choose where %s listens: %w", name, err)
	}
	st.Ports[name] = picked
	return nil
}

// writeSettings writes the files that follow from the configuration and the
// ports; it may be called again when those change.
func writeSettings(dir layout.Dir, st *state.State) error {
	policy := st.Config.AuditPolicy
	if policy == "" {
		policy = component.DefaultAuditPolicy
	}
	const privateMode = 0o600
	if err := atomicfile.Write(dir.AuditPolicy(), []byte(policy), privateMode); err != nil {
		return err
	}
	return component.WriteKubeconfigs(settings(dir, st, nil))
}
