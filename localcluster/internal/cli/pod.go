// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

const podLong = `Runs COMMAND on this machine in place of the container of a simulated pod. It waits
until the pod is bound to a node, and gives the command a service account token that
is bound to the pod, as the kubelet would: the token names the pod and its node, and
is invalid when the pod is gone.

The command's environment is the launcher's, and

  KUBECONFIG                   a kubeconfig that uses the token
  NODE_NAME                    the pod's node
  POD_NAME, POD_NAMESPACE, POD_UID, POD_SERVICE_ACCOUNT
  NAMESPACE                    the same as POD_NAMESPACE
  SERVICE_ACCOUNT_DIR          a directory with token, ca.crt and namespace; it also
                               has pid, the command's process ID while it runs, and
                               started, when it last started

The token is renewed in place when four fifths of its life are over. When the pod is
deleted, the command is asked to end. In the foreground, localcluster ends when the
command does, with its exit code. With --detach, the command runs in the background
until 'stop NAMESPACE/NAME' or 'down', writes to a log in DIR, and starts again when
it ends, after 1s, 2s, 4s … 30s.`

// podFlags are the flags of the verb pod.
type podFlags struct {
	timeout, life     time.Duration
	detach, supervise bool
	output            *output
}

var (
	errPodName         = errors.New("a pod is named as NAMESPACE/NAME")
	errNotBound        = errors.New("not in time")
	errNotStarted      = errors.New("it has not started yet")
	errSupervisorEnded = errors.New("the command did not start")
)

func newPod(streams Streams) *cobra.Command {
	command := &cobra.Command{
		Use:     "pod NAMESPACE/NAME --dir DIR [--detach] -- COMMAND ARGUMENTS",
		Short:   "Run a command with the identity of a simulated pod",
		Long:    podLong,
		Example: `  localcluster pod kube-system/agent-x7k2p --dir /tmp/c --detach -- ./agent`,
		Args:    cobra.MinimumNArgs(2), //nolint:mnd // a pod and a command
	}
	flags := podFlags{output: addOutput(command)}
	const patience, life = 30 * time.Second, time.Hour
	command.Flags().DurationVar(&flags.timeout, "timeout", patience, "how long to wait until the pod is bound to a node and the command started")
	command.Flags().DurationVar(&flags.life, "token-life", life, "how long a token is good; the API server grants no less than 10m")
	command.Flags().BoolVar(&flags.detach, "detach", false, "run the command in the background and keep it running")
	command.Flags().BoolVar(&flags.supervise, "supervise", false, "be the background process that --detach starts")
	_ = command.Flags().MarkHidden("supervise") // fails only for a flag that does not exist
	return on(streams, command, func(command *cobra.Command, opened *cluster.Cluster, args []string) error {
		namespace, name, found := strings.Cut(args[0], "/")
		if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
			return fmt.Errorf("%w: %q", errPodName, args[0])
		}
		if _, err := exec.LookPath(args[1]); err != nil {
			return fmt.Errorf("find the command: %w", err)
		}
		pod := state.Pod{Namespace: namespace, Name: name, Command: args[1:]}
		if flags.detach {
			return flags.background(command.Context(), opened, pod, streams)
		}
		return flags.foreground(command.Context(), opened, pod, streams)
	})
}

func (f podFlags) inTime(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("%w (%s)", errNotBound, f.timeout))
}

// foreground runs the command in this process's place.
func (f podFlags) foreground(ctx context.Context, opened *cluster.Cluster, pod state.Pod, streams Streams) error {
	if !f.supervise {
		self := func([]string) (process.Identity, error) { return process.Observe(os.Getpid()) }
		if _, err := opened.RecordPod(ctx, pod, self); err != nil {
			return err
		}
	}
	bindContext, cancel := f.inTime(ctx)
	defer cancel()
	run, err := opened.PodRun(bindContext, pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	run.TokenLife, run.Command, run.Restart = f.life, pod.Command, f.supervise
	run.Stdin, run.Stdout, run.Stderr = streams.In, streams.Out, streams.Err
	return ofCommand(run.Do(ctx))
}

// background starts a supervisor, which is this program again, and returns when the command runs.
func (f podFlags) background(ctx context.Context, opened *cluster.Cluster, pod state.Pod, streams Streams) error {
	bindContext, cancel := f.inTime(ctx)
	defer cancel()
	// This process waits for the pod, too, because its caller sees it fail.
	run, err := opened.PodRun(bindContext, pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	pod.Log = opened.Dir().PodLog(pod.Namespace, pod.Name)
	var supervisor process.Identity
	facts, err := opened.RecordPod(ctx, pod, func(env []string) (process.Identity, error) {
		if err := run.Files.Forget(); err != nil {
			return process.Identity{}, err
		}
		supervisor, err = f.startSupervisor(opened, pod, env)
		return supervisor, err
	})
	if err != nil {
		return err
	}
	var report *progress.Reporter
	err = report.Await(bindContext, 20*time.Millisecond, func(context.Context) (bool, error) {
		switch {
		case run.Files.Started():
			return true, nil
		case !supervisor.Alive():
			return true, errSupervisorEnded
		}
		return false, errNotStarted
	})
	if err != nil {
		return fmt.Errorf("pod %s/%s: %w; see %s", pod.Namespace, pod.Name, err, pod.Log)
	}
	return f.output.write(streams.Out, facts, func(out io.Writer) {
		_, _ = fmt.Fprintf(out, "pod %s/%s runs on %s; its log is %s\n", pod.Namespace, pod.Name, run.Pod.Spec.NodeName, pod.Log)
	})
}

func (f podFlags) startSupervisor(opened *cluster.Cluster, pod state.Pod, env []string) (process.Identity, error) {
	self, err := os.Executable()
	if err != nil {
		return process.Identity{}, fmt.Errorf("find the launcher itself: %w", err)
	}
	here, err := os.Getwd()
	if err != nil {
		return process.Identity{}, fmt.Errorf("find the working directory: %w", err)
	}
	args := []string{
		"pod", pod.Namespace + "/" + pod.Name, "--supervise",
		"--dir", string(opened.Dir()), "--token-life", f.life.String(), "--timeout", f.timeout.String(), "--",
	}
	return process.Start(process.Spec{
		Path: self, Args: append(args, pod.Command...), Env: append(os.Environ(), env...), Dir: here, Log: pod.Log,
	})
}
