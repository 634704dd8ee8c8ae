// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/nodelease"
)

// keptFor is the default duration of the lease while a command runs. It is renewed meanwhile, and
// free soon after a crash of this process.
const keptFor = 2 * time.Minute

// acquireFlags are the flags of lease acquire.
type acquireFlags struct {
	node, holder, purpose string
	duration              time.Duration
	administrator         bool
	// command runs while the lease is held; it may be empty.
	command []string
}

func newAcquire(t *cli.Tool) *cobra.Command {
	a := &acquireFlags{}
	command := &cobra.Command{
		Use:   "acquire NODE [-- COMMAND...]",
		Short: "Acquire or renew the lease of a node",
		Long: `Acquires the lease of a node for --duration, or renews your own, and prints its end. Run the command
again to renew it, or release it with 'kubectl slipway lease release NODE'. A lease of another holder
stays unchanged, and the exit code is 7.

With --administrator, the lease never expires: kubeadmin-<your name> holds it until its release. Use it
for manual work of unknown length, and do not forget it: until then, Slipway and other tools do not work
on the node.

With a COMMAND, the lease is renewed while the command runs, and released at its end; the command
sets the exit code. The default of --duration is 2m then. If the lease is lost, the command gets
SIGTERM, and SIGKILL 3 s later.`,
		Example: `  kubectl slipway lease acquire worker-1 --purpose "firmware 2.4"
  kubectl slipway lease acquire worker-1 --administrator --purpose "new disk"
  kubectl slipway lease acquire worker-1 -- ./flash.sh worker-1`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: t.CompleteNodes(1),
		RunE: func(command *cobra.Command, args []string) error {
			if err := a.take(command, args); err != nil {
				return err
			}
			return acquireLease(command.Context(), t, a)
		},
	}
	f := command.Flags()
	f.StringVar(&a.holder, "holder", "", "the holder, such as a tool's domain (default: your user name at the API server)")
	f.StringVar(&a.purpose, "purpose", "", "the purpose, which other users can read")
	f.DurationVar(&a.duration, "duration", nodelease.MaxDuration, "the duration, from 1s to 1h; you can renew the lease")
	f.BoolVar(&a.administrator, "administrator", false, "the lease never expires; you release it")
	command.MarkFlagsMutuallyExclusive("administrator", "duration")
	return command
}

// take reads the command line.
func (a *acquireFlags) take(command *cobra.Command, args []string) (err error) {
	nodes, timed := args, command.Flags().Changed("duration")
	if dash := command.ArgsLenAtDash(); dash >= 0 {
		if nodes, a.command = args[:dash], args[dash:]; len(a.command) == 0 {
			return cli.Usagef("the command after -- is missing")
		}
	}
	if len(nodes) != 1 {
		return cli.Usagef("name one node, and a command only after --: kubectl slipway lease acquire NODE -- COMMAND")
	}
	if a.node, err = cli.OneNode(nodes); err != nil {
		return err
	}
	switch {
	case a.duration < time.Second || a.duration > nodelease.MaxDuration:
		return cli.Usagef("--duration: %s must be from 1s to 1h; renew the lease before its end, or give --administrator", a.duration)
	case a.administrator && a.holder != "" && !strings.HasPrefix(a.holder, nodelease.AdministratorPrefix):
		return cli.Usagef("--holder: the name of an administrator begins with %s: %s", nodelease.AdministratorPrefix, cli.AdministratorOf(a.holder))
	}
	if len(a.command) > 0 && !timed {
		a.duration = keptFor
	}
	return a.wantMeant(a.holder, "--holder: ")
}

// wantMeant refuses a holder whose lease would never expire, unless --administrator is given.
func (a *acquireFlags) wantMeant(holder, who string) error {
	if nodelease.IsAdministrator(holder) && !a.administrator {
		return cli.Usagef("%sthe lease of %s would never expire, because of its name: give --administrator if that is meant, or another --holder", who, holder)
	}
	return nil
}

func acquireLease(ctx context.Context, t *cli.Tool, a *acquireFlags) error {
	l, err := t.Leases()
	if err != nil {
		return err
	}
	holder, err := a.name(ctx, l)
	if err != nil {
		return err
	}
	wanted, err := l.Find(ctx, a.node)
	if err != nil {
		return err
	}
	if wanted != "" {
		t.Notef("Warning: %s", wanted)
	}
	if len(a.command) > 0 {
		return runWithLease(ctx, t, l, a, holder)
	}
	held, err := l.Acquire(ctx, a.node, holder, a.purpose, a.duration)
	if err != nil {
		return leaseTrouble(err)
	}
	t.Sayf("%s", acquiredText(a, held))
	return nil
}

// name returns the holder.
func (a *acquireFlags) name(ctx context.Context, l cli.Leases) (string, error) {
	if a.holder != "" {
		return a.holder, nil
	}
	user, err := l.User(ctx)
	if err != nil {
		return "", err
	}
	if a.administrator {
		return cli.AdministratorOf(user), nil
	}
	return user, a.wantMeant(user, "")
}

// acquiredText describes the end of the lease, and the command that releases it.
func acquiredText(a *acquireFlags, held nodelease.Held) string {
	release := "kubectl slipway lease release " + a.node
	if a.holder != "" {
		release += " --holder " + a.holder
	}
	ends := "it never expires"
	if !held.Administrator {
		ends = fmt.Sprintf("until %s, unless you renew it with the same command", held.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("node/%s: its lease is held by %s\n  %s; release it with '%s'\n", a.node, held.Holder, ends, release)
}

// runWithLease runs a command while it holds the lease, and ends with the command's exit code.
func runWithLease(ctx context.Context, t *cli.Tool, l cli.Leases, a *acquireFlags, holder string) error {
	program, err := exec.LookPath(a.command[0])
	if err != nil {
		return cli.Usagef("there is no command %s: %w", a.command[0], err)
	}
	err = l.Keep(ctx, a.node, holder, a.purpose, a.duration, func(ctx context.Context) error {
		err := runCommand(ctx, t, program, a.command)
		if errors.Is(context.Cause(ctx), nodelease.ErrLost) {
			return nil // Keep returns it
		}
		return err
	})
	if errors.Is(err, nodelease.ErrLost) {
		return fmt.Errorf("the command was ended: %w", err)
	}
	ended, ok := errors.AsType[*exec.ExitError](err)
	switch {
	case !ok || isMore(err):
		return leaseTrouble(err)
	case ended.Exited():
		return cli.ExitError{Code: ended.ExitCode()}
	case ctx.Err() != nil:
		return ctx.Err() // interrupted, and the command with it
	default:
		return fmt.Errorf("%s: %w", a.command[0], ended)
	}
}

// isMore reports whether an error has more than the end of the command.
func isMore(err error) bool {
	joined, ok := err.(interface{ Unwrap() []error })
	return ok && len(joined.Unwrap()) > 1
}

// runCommand runs a command on the terminal until it ends. When ctx is done it gets SIGTERM, and
// SIGKILL if the lease is lost: the next holder may begin soon.
func runCommand(ctx context.Context, t *cli.Tool, program string, command []string) error {
	c := exec.CommandContext(ctx, program)
	c.Args = command
	// Not ErrOut, which would clean the command's own output.
	c.Stdin, c.Stdout, c.Stderr = t.In, t.Out, os.Stderr
	ended := make(chan struct{})
	var killing sync.WaitGroup
	defer killing.Wait()
	defer close(ended)
	c.Cancel = func() error {
		if cause := context.Cause(ctx); errors.Is(cause, nodelease.ErrLost) {
			t.Notef("%v; %s has %s to end", cause, command[0], nodelease.Skew)
			killing.Go(func() { killAfter(t.Clock.NewTimer(nodelease.Skew), ended, c.Process) })
		}
		return c.Process.Signal(syscall.SIGTERM)
	}
	return c.Run()
}

// killAfter kills a process at a time, unless it has ended before.
func killAfter(at clock.Timer, ended <-chan struct{}, process *os.Process) {
	defer at.Stop()
	select {
	case <-at.C():
		_ = process.Kill() // it fails if it has just ended
	case <-ended:
	}
}
