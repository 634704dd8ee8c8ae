// SPDX-License-Identifier: Apache-2.0

// Package cli is what a person or a script says to the launcher: one file per
// verb. It parses, calls, prints; what a cluster is, it does not know.
package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

const long = `localcluster runs a real Kubernetes control plane on this machine, without
containers and without a virtual machine: etcd, kube-apiserver,
kube-controller-manager and kube-scheduler, each a process of its own, and kwok,
which simulates nodes and the pods on them. It is made for tests of what runs
against a cluster, and needs nothing of Slipway.

The control plane is compiled from its Go modules the first time, which takes
minutes and a Go toolchain; after that, a cluster is ready in seconds. It listens
on 127.0.0.1 only, on ports that happen to be free, so several clusters run side
by side. It is made to be thrown away: etcd does not wait for the disk, and
'down' leaves no process and no file.

How simulated pods behave is set by annotations of the pod; the values are
durations such as 500ms. Without them, each step takes 1 to 6 seconds:

  pod-create.stage.kwok.x-k8s.io/delay, …/jitter-delay   bound → has an address
  pod-ready.stage.kwok.x-k8s.io/delay, …/jitter-delay    has an address → Ready
  pod-delete.stage.kwok.x-k8s.io/delay                   deleted → gone, at the
                         earliest; at the latest, when its grace period is over

Exit codes: 0 done; 1 failed; 'pod' in the foreground: that of its command.`

const example = `  # A cluster for an afternoon
  localcluster up --dir /tmp/c --nodes 5
  export KUBECONFIG=$(localcluster kubeconfig --dir /tmp/c)
  localcluster kubectl --dir /tmp/c -- get nodes
  localcluster down --dir /tmp/c

  # A cluster for as long as a test holds its standard input open
  localcluster run --dir "$(mktemp -d)/c"

  # An agent on this machine, with the identity of a simulated pod
  localcluster pod kube-system/agent-x7k2p --dir /tmp/c --detach -- ./agent -v

  # The API server is away for half a minute
  localcluster stop kube-apiserver --dir /tmp/c; sleep 30
  localcluster start kube-apiserver --dir /tmp/c`

// Streams are what the program reads and writes.
type Streams struct {
	In       io.Reader
	Out, Err io.Writer
}

// Execute runs one command line and returns the exit code.
func Execute(ctx context.Context, args []string, streams Streams) int {
	root := newRoot(streams)
	root.SetArgs(args)
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.Err)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	if ended, is := errors.AsType[*endedError](err); is {
		return ended.code
	}
	_, _ = fmt.Fprintln(streams.Err, "localcluster:", err)
	return 1
}

// endedError is that a command that somebody runs through this one has failed. It has said
// itself what is wrong.
type endedError struct{ code int }

func (e *endedError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// ofCommand tells the failure of such a command from what the launcher runs for itself.
func ofCommand(err error) error {
	var exited *exec.ExitError
	if errors.As(err, &exited) && exited.ExitCode() > 0 {
		return &endedError{exited.ExitCode()}
	}
	return err
}

func newRoot(streams Streams) *cobra.Command {
	root := &cobra.Command{
		Use:           "localcluster",
		Short:         "A real Kubernetes control plane on this machine, with simulated nodes",
		Long:          long,
		Example:       example,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.AddCommand(
		newUp(streams), newDown(streams), newRun(streams), newGuard(streams), newStatus(streams),
		newStart(streams), newStop(streams), newPod(streams), newNode(streams), newKubeconfig(streams), newKubectl(streams), newBuild(streams),
	)
	return root
}

// target is which cluster a verb is about.
type target struct {
	dir   string
	quiet bool
}

func (t *target) addFlags(command *cobra.Command) {
	command.Flags().StringVar(&t.dir, "dir", "", "the cluster's directory (required)")
	command.Flags().BoolVarP(&t.quiet, "quiet", "q", false, "do not report progress on standard error")
	_ = command.MarkFlagRequired("dir") // fails only for a flag that does not exist
	_ = command.MarkFlagDirname("dir")
}

func (t *target) open(streams Streams) (*cluster.Cluster, error) {
	return cluster.Open(t.dir, reporter(t.quiet, streams))
}

func reporter(quiet bool, streams Streams) *progress.Reporter {
	if quiet {
		return nil
	}
	return progress.New(streams.Err)
}

// format is how facts are printed.
type format string

const (
	text     format = "text"
	jsonForm format = "json"
)

var errFormat = errors.New("unknown output format, neither text nor json")

func addFormat(command *cobra.Command, output *string) {
	command.Flags().StringVarP(output, "output", "o", string(text), "how to print the result: text or json")
}

// printAs prints value as JSON on one line, or else by printText.
func printAs(out io.Writer, output string, value any, printText func(io.Writer)) error {
	switch format(output) {
	case text:
		printText(out)
		return nil
	case jsonForm:
		if err := json.NewEncoder(out).Encode(value); err != nil {
			return fmt.Errorf("print the result: %w", err)
		}
		return nil
	}
	return fmt.Errorf("%w: %q", errFormat, output)
}

// addCache adds the flag that says where built control planes are.
func addCache(command *cobra.Command, cache *string) {
	command.Flags().StringVar(cache, "cache", "",
		"where built control planes are kept (default $SLIPWAY_LOCALCLUSTER_CACHE or slipway-localcluster in the user's cache directory)")
}

func cacheDir(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	return build.DefaultCache()
}
