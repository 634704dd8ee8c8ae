// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// place is a directory with a cluster and the sockets of its agents.
type place struct {
	root string // of the repository
	dir  string
}

// newPlace is the directory, or .local in the repository if it is empty.
func newPlace(dir string) (place, error) {
	root, err := devcluster.Root()
	if err != nil {
		return place{}, err
	}
	if dir == "" {
		dir = filepath.Join(root, ".local")
	}
	dir, err = filepath.Abs(dir)
	return place{root: root, dir: dir}, err
}

// demo is where the demo has its own cluster.
func (p place) demo() place { return place{root: p.root, dir: filepath.Join(p.dir, "demo")} }

func (p place) cluster() string    { return filepath.Join(p.dir, "cluster") }
func (p place) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }
func (p place) agents() string     { return filepath.Join(p.dir, "agents") }
func (p place) nodeAgent() string  { return filepath.Join(p.root, "bin", "node-agent") }
func (p place) controller() string { return filepath.Join(p.root, "bin", "controller") }
func (p place) kubectl() string    { return filepath.Join(p.root, "bin", "kubectl") }

// sample is one of the manifests in config/samples.
func (p place) sample(name string) string { return filepath.Join("config", "samples", name) }

// linkKubeconfig makes the kubeconfig that people use of the cluster's own.
func (p place) linkKubeconfig(c *devcluster.Cluster) error {
	if err := p.unlinkKubeconfig(); err != nil {
		return err
	}
	if err := os.Symlink(c.Kubeconfig, p.kubeconfig()); err != nil {
		return fmt.Errorf("link the kubeconfig: %w", err)
	}
	return nil
}

// remove removes what is left when the cluster is gone: the agents' sockets, and the
// directory if nothing else is in it.
func (p place) remove() error {
	if err := os.RemoveAll(p.agents()); err != nil {
		return fmt.Errorf("remove the agents' sockets: %w", err)
	}
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return nil
	}
	return errors.Join(err, os.Remove(p.dir))
}

func (p place) unlinkKubeconfig() error {
	if err := os.Remove(p.kubeconfig()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old kubeconfig: %w", err)
	}
	return nil
}
