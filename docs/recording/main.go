// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"

	"k8s.io/utils/clock"
)

// The size of the terminal: the usual width, and as many rows as the longest answer has.
const (
	columns = 100
	rows    = 32
)

const title = "A terminal: a drain is blocked by a budget, explained, unblocked, and the node is returned"

func main() {
	root := flag.String("root", ".", "the repository, with what make localcluster has built in bin/")
	out := flag.String("out", "docs/recording.svg", "where to write the picture")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := record(ctx, *root, *out, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

func record(ctx context.Context, root, out string, log io.Writer) (err error) {
	root, err = filepath.Abs(root)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "slipway-recording-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	c := cluster{bin: filepath.Join(root, "bin"), dir: dir}
	defer func() { err = errors.Join(err, c.down(context.WithoutCancel(ctx))) }()
	if err := c.up(ctx, filepath.Join(root, "docs/recording/workload.yaml")); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // it ends the shell
	s, err := startShell(ctx, clock.RealClock{}, columns, rows, c.environment())
	if err != nil {
		return err
	}
	fmt.Fprintln(log, "recording: types the script")
	if err := play(ctx, s); err != nil {
		return err
	}
	frames := timeline(s.seen())
	fmt.Fprintf(log, "recording: %d screens, into %s\n", len(frames), out)
	return os.WriteFile(out, []byte(draw(frames, columns, rows, title)), 0o644)
}

// cluster is the local cluster that is recorded.
type cluster struct{ bin, dir string }

func (c cluster) up(ctx context.Context, workload string) error {
	if err := c.run(ctx, "dev", "up", "--dir", c.dir, "--nodes", "3"); err != nil {
		return err
	}
	if err := c.run(ctx, "kubectl", "apply", "-f", workload); err != nil {
		return err
	}
	return c.run(ctx, "kubectl", "rollout", "status", "-n", "shop", "deployment/web", "deployment/ledger")
}

func (c cluster) down(ctx context.Context) error {
	return c.run(ctx, "dev", "down", "--dir", c.dir)
}

func (c cluster) run(ctx context.Context, name string, args ...string) error {
	command := exec.CommandContext(ctx, filepath.Join(c.bin, name), args...)
	command.Env = c.environment()
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %v: %w", name, args, err)
	}
	return nil
}

// environment is the user's, but for the cluster, and with kubectl and its plugin first.
func (c cluster) environment() []string {
	return append(os.Environ(),
		"KUBECONFIG="+filepath.Join(c.dir, "kubeconfig"),
		"PATH="+c.bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
}
