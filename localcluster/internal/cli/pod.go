// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/process"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

const podLong = `Runs COMMAND on this machine as though it were the container's process of a
simulated pod. It waits until the pod is bound to a node, and gives the command
a service account token that is bound to the pod, as the kubelet would: the token
names the pod and its node, and is worth nothing when the pod is gone.

The command's environment is the launcher's, and

  KUBECONFIG                   a kubeconfig that uses the token
  NODE_NAME                    where the pod is
  POD_NAME, POD_NAMESPACE, POD_UID, POD_SERVICE_ACCOUNT
  NAMESPACE                    the same as POD_NAMESPACE
  SERVICE_ACCOUNT_DIR          a directory with token, ca.crt and namespace; there
                               are also pid, the command's process id while it
                               runs, and started, when it was last started

The token is replaced in place when four fifths of its life are over. When the
pod is deleted, the command is asked to end. In the foreground, localcluster
ends when the command does, with its exit code. With --detach, the command runs
in the background until 'stop NAMESPACE/NAME' or 'down', writes to a log in DIR,
and is started again when it ends, after 1s, 2s, 4s … 30s.`

// podFlags are those of the verb pod.
type podFlags struct {
	where             target
	timeout, life     time.Duration
	detach, supervise bool
	output            string
}

func newPod(streams Streams) *cobra.Command {
	var flags podFlags
	command := &cobra.Command{
		Use:     "pod NAMESPACE/NAME --dir DIR [--detach] -- COMMAND ARGUMENTS",
		Short:   "Run a command with the identity of a simulated pod",
		Long:    podLong,
		Example: `  localcluster pod kube-system/agent-x7k2p --dir /tmp/c --detach -- ./agent`,
		Args:    cobra.MinimumNArgs(2), //nolint:mnd // a pod and a command
		RunE: func(command *cobra.Command, args []string) error {
			namespace, name, found := strings.Cut(args[0], "/")
			if !found || namespace == "" || name == "" || strings.Contains(name, "/") {
				return fmt.Errorf("%w: %q", errPodName, args[0])
			}
			if _, err := exec.LookPath(args[1]); err != nil {
				return fmt.Errorf("find the command: %w", err)
			}
			pod := state.Pod{Namespace: namespace, Name: name, Command: args[1:]}
			return flags.do(command.Context(), pod, streams)
		},
	}
	flags.where.addFlags(command)
	const patience, life = 30 * time.Second, time.Hour
	command.Flags().DurationVar(&flags.timeout, "timeout", patience, "how long to wait until the pod is bound to a node and the command started")
	command.Flags().DurationVar(&flags.life, "token-life", life, "how long a token is good; the API server grants no less than 10m")
	command.Flags().BoolVar(&flags.detach, "detach", false, "run the command in the background and keep it running")
	addFormat(command, &flags.output)
	command.Flags().BoolVar(&flags.supervise, "supervise", false, "be the background process that --detach starts")
	_ = command.Flags().MarkHidden("supervise") // fails only for a flag that does not exist
	return command
}

var (
	errPodName  = errors.New("a pod is named as NAMESPACE/NAME")
	errNotBound = errors.New("not in time")
)

func (f podFlags) do(ctx context.Context, pod state.Pod, streams Streams) error {
	opened, err := f.where.open(streams)
	if err != nil {
		return err
	}
	if f.detach {
		return f.background(ctx, opened, pod, streams)
	}
	if !f.supervise {
		self := func([]string) (process.Identity, error) { return process.Observe(os.Getpid()) }
		if err := opened.RecordPod(ctx, pod, self); err != nil {
			return err
		}
	}
	return f.foreground(ctx, opened, pod, streams)
}

// foreground runs the command in this process's place.
func (f podFlags) foreground(ctx context.Context, opened *cluster.Cluster, pod state.Pod, streams Streams) error {
	bindContext, cancel := context.WithTimeoutCause(ctx, f.timeout, fmt.Errorf("%w (%s)", errNotBound, f.timeout))
	defer cancel()
	run, err := opened.PodRun(bindContext, pod.Namespace, pod.Name)
	if err != nil {
		return err
	}
	run.TokenLife = f.life
	run.Command = pod.Command
	run.Restart = f.supervise
	run.Stdin, run.Stdout, run.Stderr = streams.In, streams.Out, streams.Err
	return ofCommand(run.Do(ctx))
}
