// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/nodelease"
)

// keptFor is for how long the lease is taken while a command runs, unless the flags say it:
// it is renewed meanwhile, and free soon after this process has crashed.
const keptFor = 2 * time.Minute

// leaseAcquireFlags are those of lease acquire.
type leaseAcquireFlags struct {
	node, holder, purpose string
	duration              time.Duration
	administrator         bool
	// command is what to run meanwhile. Empty: nothing.
	command []string
}

func newLeaseAcquire(t *tool) *cobra.Command {
	a := &leaseAcquireFlags{}
	command := &cobra.Command{
		Use:   "acquire NODE [-- COMMAND...]",
		Short: "Take or renew the lease of a node",
		Long: `Takes the lease of a node for --duration, or renews it if you hold it, and says until when.
Renew it by the same command before that, or give it back with 'kubectl slipway lease release
NODE'. If somebody else holds it, nothing changes, and the exit code is 5.

With --administrator the lease never expires: it is yours until you give it back, as
kubeadmin-<your name>. Use it for work by hand that takes as long as it takes, and do not
forget it: nobody else, Slipway neither, works on the node until then.

With a command, the lease is held and renewed while the command runs, and given back when it
ends; the exit code is the command's. If the lease is lost, because the API server cannot be
reached or somebody breaks it, the command is told to end by SIGTERM, and 3 s later by SIGKILL.
The duration is 2m then, unless --duration says it: so long it stays if this process crashes.`,
		Example: `  kubectl slipway lease acquire worker-1 --purpose "firmware 2.4"
  kubectl slipway lease acquire worker-1 --administrator --purpose "new disk"
  kubectl slipway lease acquire worker-1 -- ./flash.sh worker-1`,
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: t.completeNode,
		RunE: func(command *cobra.Command, args []string) error {
			if err := a.take(command, args); err != nil {
				return err
			}
			return t.acquireLease(command.Context(), a)
		},
	}
	f := command.Flags()
	f.StringVar(&a.holder, "holder", "", "who takes it, such as a tool's domain (default: you, as the API server knows you)")
	f.StringVar(&a.purpose, "purpose", "", "what for: others are told")
	f.DurationVar(&a.duration, "duration", nodelease.MaxDuration, "for how long, from 1s to 1h; it can be renewed")
	f.BoolVar(&a.administrator, "administrator", false, "it never expires, and has to be given back by hand")
	return command
}

// take reads the command line.
func (a *leaseAcquireFlags) take(command *cobra.Command, args []string) (err error) {
	nodes, timed := args, command.Flags().Changed("duration")
	if dash := command.ArgsLenAtDash(); dash >= 0 {
		if nodes, a.command = args[:dash], args[dash:]; len(a.command) == 0 {
			return usage("there is no command after --")
		}
	}
	if len(nodes) != 1 {
		return usage("say one node, and a command only after --: kubectl slipway lease acquire NODE -- COMMAND")
	}
	if a.node, err = theNode(nodes); err != nil {
		return err
	}
	switch {
	case a.administrator && timed:
		return usage("an administrator's lease never expires: say --duration or --administrator, not both")
	case a.duration < time.Second || a.duration > nodelease.MaxDuration:
		return usage("--duration: %s must be from 1s to 1h; renew the lease before it is over, or say --administrator", a.duration)
	case a.administrator && a.holder != "" && !strings.HasPrefix(a.holder, nodelease.AdministratorPrefix):
		return usage("--holder: the name of an administrator begins with %s: %s", nodelease.AdministratorPrefix, administratorOf(a.holder))
	}
	if len(a.command) > 0 && !timed {
		a.duration = keptFor
	}
	return a.wantMeant(a.holder, "--holder: ")
}

// wantMeant refuses a name whose lease would never expire though nobody has said that.
func (a *leaseAcquireFlags) wantMeant(holder, who string) error {
	if nodelease.IsAdministrator(holder) && !a.administrator {
		return usage("%sthe lease of %s would never expire, because of its name: say --administrator if that is meant, or another --holder", who, holder)
	}
	return nil
}

func (t *tool) acquireLease(ctx context.Context, a *leaseAcquireFlags) error {
	l, err := t.leases()
	if err != nil {
		return err
	}
	holder, err := a.name(ctx, l)
	if err != nil {
		return err
	}
	if err := l.find(ctx, a.node); err != nil {
		return err
	}
	if len(a.command) > 0 {
		return t.runWithLease(ctx, l, a, holder)
	}
	held, err := l.Acquire(ctx, a.node, holder, a.purpose, a.duration)
	if err != nil {
		return leaseTrouble(err)
	}
	t.say(acquiredText(a, held))
	return nil
}

// name is who takes it.
func (a *leaseAcquireFlags) name(ctx context.Context, l leases) (string, error) {
	if a.holder != "" {
		return a.holder, nil
	}
	user, err := l.user(ctx)
	if err != nil {
		return "", err
	}
	if a.administrator {
		return administratorOf(user), nil
	}
	return user, a.wantMeant(user, "")
}

// acquiredText says until when, and how to give it back.
func acquiredText(a *leaseAcquireFlags, held nodelease.Held) string {
	back := "kubectl slipway lease release " + a.node
	if a.holder != "" {
		back += " --holder " + a.holder
	}
	ends := "it never expires: give it back"
	if !held.Administrator {
		ends = fmt.Sprintf("until %s, unless you renew it by the same command; give it back", held.Until.UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("node/%s: its lease is held by %s\n  %s with '%s'\n", a.node, held.Holder, ends, back)
}
