// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/build"
	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

const long = `localcluster runs a real Kubernetes control plane on this machine, without
containers and without a virtual machine: etcd, kube-apiserver,
kube-controller-manager and kube-scheduler, each a process of its own, and kwok,
which simulates nodes and the pods on them. It is made for tests of programs that
run against a cluster, and needs nothing of Slipway.

The first time, it compiles the control plane from its Go modules, which takes
minutes and a Go toolchain. After that, a cluster is ready in seconds. It listens
on 127.0.0.1 only, on free ports, so several clusters run side by side. It is made
to be thrown away: etcd does not wait for the disk, and 'down' leaves no process
and no file.

Annotations of a simulated pod set how it behaves; the values are durations such
as 500ms. Without them, each step takes 1 to 6 seconds:

  pod-create.stage.kwok.x-k8s.io/delay, …/jitter-delay   bound → has an address
  pod-ready.stage.kwok.x-k8s.io/delay, …/jitter-delay    has an address → Ready
  pod-delete.stage.kwok.x-k8s.io/delay                   deleted → gone, at the
                         earliest; at the latest, when its grace period is over

Exit codes: 0 done; 1 failed; 'pod' in the foreground and 'kubectl': that of the
command.`

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

// Streams are the standard streams of the program.
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

// endedError means that a command that the user runs through this one has failed, and has
// reported its failure itself.
type endedError struct{ code int }

func (e *endedError) Error() string { return fmt.Sprintf("exit code %d", e.code) }

// ofCommand returns an endedError for the exit code of the user's command, and any other error unchanged.
func ofCommand(err error) error {
	if exited, is := errors.AsType[*exec.ExitError](err); is && exited.ExitCode() > 0 {
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
		newStart(streams), newStop(streams), newPod(streams), newNode(streams),
		newKubeconfig(streams), newKubectl(streams), newBuild(streams),
	)
	return root
}

// target is the cluster that a verb works on.
type target struct {
	Streams

	dir   string
	quiet bool
}

// on completes the command of a verb that works on one cluster: --dir names it.
func on(streams Streams, command *cobra.Command, run func(*cobra.Command, *cluster.Cluster, []string) error) *cobra.Command {
	where := &target{Streams: streams}
	command.Flags().StringVar(&where.dir, "dir", "", "the cluster's directory (required)")
	command.Flags().BoolVarP(&where.quiet, "quiet", "q", false, "do not report progress on standard error")
	_ = command.MarkFlagRequired("dir") // fails only for a flag that does not exist
	_ = command.MarkFlagDirname("dir")
	command.RunE = func(command *cobra.Command, args []string) error {
		report := progress.New(streams.Err)
		if where.quiet {
			report = nil
		}
		opened, err := cluster.Open(where.dir, report)
		if err != nil {
			return err
		}
		return run(command, opened, args)
	}
	return command
}

// output is how a result is printed.
type output string

const (
	text output = "text"
	line output = "json"
)

var errOutput = errors.New("unknown output format, neither text nor json")

func (o *output) String() string { return string(*o) }
func (o *output) Type() string   { return "string" }

// Set implements pflag.Value.
func (o *output) Set(value string) error {
	if *o = output(value); *o != text && *o != line {
		return errOutput
	}
	return nil
}

func addOutput(command *cobra.Command) *output {
	format := text
	command.Flags().VarP(&format, "output", "o", "how to print the result: text or json")
	return &format
}

// write writes value as one line of JSON, or by printText.
func (o *output) write(out io.Writer, value any, printText func(io.Writer)) error {
	if *o == text {
		printText(out)
		return nil
	}
	if err := json.NewEncoder(out).Encode(value); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// addCache adds the flag for the directory of built control planes.
func addCache(command *cobra.Command, cache *string) {
	fallback, _ := build.DefaultCache() // if it fails, the flag has to name the directory
	command.Flags().StringVar(cache, "cache", fallback, "the directory of built control planes ($SLIPWAY_LOCALCLUSTER_CACHE is another default)")
}

// addKubernetes adds the flag for the version of Kubernetes.
func addKubernetes(command *cobra.Command, version *string) {
	command.Flags().StringVar(version, "kubernetes", os.Getenv("SLIPWAY_LOCALCLUSTER_KUBERNETES"),
		"version of Kubernetes, such as v1.35.4 (default: "+build.Newest()+"; $SLIPWAY_LOCALCLUSTER_KUBERNETES is another default)")
}
