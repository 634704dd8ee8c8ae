// SPDX-License-Identifier: Apache-2.0

// Package cmd is the command line of kubectl slipway. It puts the groups of commands
// together; each group has its folder:
//
//	drain        drain, uncordon, cancel, hold
//	maintenance  maintain, maintenance, done
//	evict        evict, evictions
//	lease        lease
//	plan         plan
//	status       status, explain, drivers, budgets, version
//	install      install, uninstall
//
// A command reads flags, has the facts read with the caller's permissions, hands them to a
// pure package, and prints the result:
//
//	flags, arguments ──▶ command ──┬─ request ──▶ LifecycleEvent ──▶ API server
//	                               ├─ survey, follow ──▶ facts
//	                               └─ explain, plan, progress (pure) ──▶ ui ──▶ terminal
//
// A command holds no logic that the server needs: the server finishes the work without the command.
// Without a permission, a command shows the rest, and lists the missing part. Package cli has the
// common parts, such as the exit codes.
package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/evict"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/install"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/lease"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/maintenance"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/status"
)

// Main runs the command line of the process until its end or a signal, and
// returns the exit code. A second signal ends the process at once.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// The libraries' logs would appear between what the commands print.
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	streams := genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}
	return cli.Run(ctx, cli.NewRoot(cli.NewTool(streams), commands))
}

// NewCommand returns the command line of kubectl slipway, for its reference.
func NewCommand() *cobra.Command {
	return cli.NewRoot(cli.NewTool(genericiooptions.NewTestIOStreamsDiscard()), commands)
}

// commands returns the commands of all groups.
func commands(t *cli.Tool) (all []*cobra.Command) {
	for _, group := range []func(*cli.Tool) []*cobra.Command{
		drain.Commands, maintenance.Commands, evict.Commands, lease.Commands, plan.Commands, status.Commands, install.Commands,
	} {
		all = append(all, group(t)...)
	}
	return all
}
