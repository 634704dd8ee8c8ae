// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// tool is what all commands share.
type tool struct {
	genericiooptions.IOStreams

	// flags are kubectl's, for the cluster and who one is there.
	flags *genericclioptions.ConfigFlags
	clock clock.WithTicker
}

// say prints a text for people that is without colors, cleaned; what goes to ErrOut always is.
func (t *tool) say(text string) { fmt.Fprint(t.Out, ui.CleanLines(text)) }

// Main runs the command line of the process, until it is done or a signal ends it, and
// returns the exit code. A second signal ends the process at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// What the libraries log would run through what is shown.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return run(ctx, newTool(streams).command())
}

// NewCommand is the command line of kubectl slipway, for its reference.
func NewCommand() *cobra.Command {
	return newTool(genericiooptions.NewTestIOStreamsDiscard()).command()
}

// run returns the exit code.
func run(ctx context.Context, command *cobra.Command) int {
	err := command.ExecuteContext(ctx)
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return interrupted
	}
	code, err := codeOf(err)
	if err != nil {
		fmt.Fprintln(command.ErrOrStderr(), "error:", err)
	}
	return code
}

func newTool(streams genericiooptions.IOStreams) *tool {
	streams.ErrOut = ui.Cleaned(streams.ErrOut)
	return &tool{IOStreams: streams, flags: genericclioptions.NewConfigFlags(true), clock: clock.RealClock{}}
}

func (t *tool) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-slipway",
		Short: "Take nodes out of service, and put them back",
		Long: `kubectl slipway takes nodes of a cluster out of service and puts them back. It asks; the
work is done in the cluster, by Slipway's agents, and goes on without this command.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 failed or deadline passed, 4 canceled,
5 not done when the time to wait was over, 130 interrupted.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl slipway"},
		Args:          cobra.NoArgs,
		RunE:          func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	root.SetIn(t.In)
	root.SetOut(t.Out)
	root.SetErr(t.ErrOut)
	root.SetFlagErrorFunc(func(command *cobra.Command, err error) error {
		return usage("%w; see '%s --help'", err, command.CommandPath())
	})
	t.flags.AddFlags(root.PersistentFlags())
	for _, newCommand := range []func(*tool) *cobra.Command{
		newExplain,
		newDrivers,
		newPlan,
		newVersion,
		newDrain,
		newUncordon,
		newCancel,
		newInstall,
		newUninstall,
		newMaintain, newMaintenance, newDone,
		newStatus,
		newEvict,
		newEvictions,
		newLease,
	} {
		root.AddCommand(newCommand(t))
	}
	wrongArgumentsAreUsage(root)
	return root
}

// wrongArgumentsAreUsage gives what cobra says of arguments the exit code of wrong usage.
func wrongArgumentsAreUsage(command *cobra.Command) {
	check := command.Args
	command.Args = func(command *cobra.Command, args []string) error {
		if err := check(command, args); err != nil {
			return usage("%w; see '%s --help'", err, command.CommandPath())
		}
		return nil
	}
	for _, c := range command.Commands() {
		wrongArgumentsAreUsage(c)
	}
}
