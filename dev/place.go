// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// place is a directory with a cluster and the files of its kubelets.
type place struct {
	root string // of the repository
	dir  string
}

// newPlace returns the place in the directory. An empty directory means .local in the
// repository.
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

// demo returns the place of the demo's own cluster.
func (p place) demo() place { return place{root: p.root, dir: filepath.Join(p.dir, "demo")} }

func (p place) bin() string        { return filepath.Join(p.root, "bin") }
func (p place) cluster() string    { return filepath.Join(p.dir, "cluster") }
func (p place) kubeconfig() string { return filepath.Join(p.dir, "kubeconfig") }
func (p place) kubelets() string   { return filepath.Join(p.dir, "kubelets") }

// linkKubeconfig links the kubeconfig of the cluster to the path that people use.
func (p place) linkKubeconfig(c *devcluster.Cluster) error {
	if err := os.Remove(p.kubeconfig()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the old kubeconfig: %w", err)
	}
	return os.Symlink(c.Kubeconfig, p.kubeconfig())
}

// remove removes the remaining files after the cluster is down. It keeps the directory if that
// has files of another origin.
func (p place) remove() error {
	if err := errors.Join(os.RemoveAll(p.kubelets()), os.RemoveAll(p.kubeconfig())); err != nil {
		return err
	}
	entries, err := os.ReadDir(p.dir)
	if errors.Is(err, fs.ErrNotExist) || len(entries) > 0 {
		return nil
	}
	return errors.Join(err, os.Remove(p.dir))
}

// program runs a program of bin/ as the administrator of the cluster. Its output goes to out.
func (p place) program(ctx context.Context, out io.Writer, input []byte, name string, args ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(p.bin(), name), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig())
	command.Dir = p.root
	command.Stdin, command.Stdout = bytes.NewReader(input), out
	// A separate process group: Ctrl-C reaches only dev, and dev ends the program.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var complaints bytes.Buffer
	command.Stderr = &complaints
	err := command.Run()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, strings.TrimSpace(complaints.String()))
	}
	return nil
}
