// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
)

var errAlreadyRuns = errors.New("there is a cluster already, which somebody else may use; 'localcluster down' removes it")

func newRun(streams Streams) *cobra.Command {
	var (
		where target
		what  settings
	)
	command := &cobra.Command{
		Use:   "run --dir DIR",
		Short: "Start a cluster, hold it until standard input closes, and remove it",
		Long: `Starts a cluster in DIR, prints its facts as one line of JSON on standard output
when it is ready, and takes it down when standard input closes or a signal
(SIGINT, SIGTERM) arrives.

A test suite starts this with a pipe for standard input and reads one line. When
the suite ends, however it ends, the pipe closes and the cluster goes. Even when
this very process is killed, a guard takes the cluster down.`,
		Example: `  localcluster run --dir /tmp/c < some-fifo | jq -r .kubeconfig`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			request, err := what.request(command)
			if err != nil {
				return err
			}
			return hold(command.Context(), opened, request, where, streams)
		},
	}
	where.addFlags(command)
	what.addFlags(command)
	return command
}

func hold(ctx context.Context, opened *cluster.Cluster, request cluster.Request, where target, streams Streams) error {
	if err := clearRemains(ctx, opened); err != nil {
		return err
	}
	request.ID = cluster.NewID()
	guard, err := startGuard(where, request.ID, streams)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	// From the beginning: a suite that gives up while the cluster starts does
	// not have to wait.
	go func() {
		_, _ = io.Copy(io.Discard, streams.In)
		stop()
	}()
	facts, err := opened.Up(ctx, request)
	if err == nil {
		err = printAs(streams.Out, string(jsonForm), facts, nil)
	}
	if err != nil {
		return errors.Join(err, guard.takeDown())
	}
	<-ctx.Done()
	return guard.takeDown()
}

// clearRemains removes what an earlier run may have left, but no cluster that lives.
func clearRemains(ctx context.Context, opened *cluster.Cluster) error {
	facts, err := opened.Status(ctx)
	if err != nil {
		return err
	}
	for _, found := range facts.Components {
		if found.State != cluster.Stopped {
			return fmt.Errorf("%s: %w", facts.Dir, errAlreadyRuns)
		}
	}
	if facts.State == cluster.Absent {
		return nil
	}
	_, err = opened.Down(ctx)
	return err
}

// guard is a process that takes the cluster down when its standard input
// closes, which the kernel sees to even if this process is killed.
type guard struct {
	command *exec.Cmd
	hold    io.Closer
}

func startGuard(where target, id string, streams Streams) (*guard, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the launcher itself: %w", err)
	}
	args := []string{"guard", "--dir", where.dir, "--id", id}
	if where.quiet {
		args = append(args, "--quiet")
	}
	command := exec.Command(self, args...) //nolint:noctx // it has to outlive this process
	command.Stderr = streams.Err
	// A session of its own: Ctrl-C is for this process, which then tells the guard.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	input, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the guard: %w", err)
	}
	return &guard{command: command, hold: input}, nil
}

// takeDown lets the guard do its work and returns when the cluster is gone.
func (g *guard) takeDown() error {
	if err := g.hold.Close(); err != nil {
		return fmt.Errorf("tell the guard to take the cluster down: %w", err)
	}
	if err := g.command.Wait(); err != nil {
		return fmt.Errorf("take the cluster down: %w", err)
	}
	return nil
}

// newGuard is the guard's own side.
func newGuard(streams Streams) *cobra.Command {
	var (
		where target
		id    string
	)
	command := &cobra.Command{
		Use:    "guard --dir DIR",
		Short:  "Take a cluster down when standard input closes",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, _ = io.Copy(io.Discard, streams.In)
			opened, err := where.open(streams)
			if err != nil {
				return err
			}
			// Whatever signal ended the launcher is not for the guard.
			_, err = opened.DownOnly(context.Background(), id)
			return err
		},
	}
	where.addFlags(command)
	command.Flags().StringVar(&id, "id", "", "the identity of the cluster, which alone is taken down")
	return command
}
