// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

// leaseReleaseFlags are those of lease release.
type leaseReleaseFlags struct {
	node, holder string
	force        bool
}

func newLeaseRelease(t *tool) *cobra.Command {
	r := &leaseReleaseFlags{}
	command := &cobra.Command{
		Use:   "release NODE",
		Short: "Give the lease of a node back, or break somebody else's",
		Long: `Gives back the lease of a node that you hold: in your own name, as kubeadmin-<your name>, or
in the name that --holder says. If nobody holds it, it says so, and that is no error.

It refuses to give back what somebody else holds. --force breaks such a lease: whoever is next
may take it at once. Before that, make sure that its holder is not at work on the node: it
finds out only when it renews the lease next, and two at work on a node is what leases are
there to prevent. If that is Slipway, cancel what it does: 'kubectl slipway cancel NODE'.`,
		Example: `  kubectl slipway lease release worker-1
  kubectl slipway lease release worker-1 --holder fwup.example.com
  kubectl slipway lease release worker-1 --force`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.completeNode,
		RunE: func(command *cobra.Command, args []string) (err error) {
			if r.node, err = theNode(args); err != nil {
				return err
			}
			l, err := t.leases()
			if err != nil {
				return err
			}
			return t.releaseLease(command.Context(), l, r)
		},
	}
	f := command.Flags()
	f.StringVar(&r.holder, "holder", "", "give it back in this name (default: yours)")
	f.BoolVar(&r.force, "force", false, "break it, if somebody else holds it")
	return command
}

func (t *tool) releaseLease(ctx context.Context, l leases, r *leaseReleaseFlags) error {
	standing, err := l.Get(ctx, r.node)
	if err != nil {
		return leaseTrouble(err)
	}
	held := standing.Held
	if held.Holder == "" {
		// A node that is gone has no lease; one that is misspelled has none, either.
		if err := l.find(ctx, r.node); err != nil {
			return err
		}
		t.say(fmt.Sprintf("node/%s: nobody holds its lease\n", r.node))
		return nil
	}
	own, err := r.isOwn(ctx, l, held.Holder)
	switch {
	case err != nil:
		return err
	case !own && !standing.Taken:
		t.say(fmt.Sprintf("node/%s: nobody holds its lease; that of %s has expired\n", r.node, ui.Clean(held.Holder)))
		return nil
	case !own && !r.force:
		return refusedRelease(r.node, held)
	}
	if err := l.Release(ctx, r.node, held.Holder); err != nil {
		return leaseTrouble(err)
	}
	if own {
		t.say(fmt.Sprintf("node/%s: its lease is given back by %s\n", r.node, ui.Clean(held.Holder)))
		return nil
	}
	t.say(fmt.Sprintf("node/%s: its lease is broken, which %s held since %s; if that is still at work, it finds out when it renews it next\n",
		r.node, ui.Clean(held.Holder), held.Since.UTC().Format(time.RFC3339)))
	return nil
}

// isOwn: the holder is whom the flags name; without, it is the caller, by either name.
func (r *leaseReleaseFlags) isOwn(ctx context.Context, l leases, holder string) (bool, error) {
	if r.holder != "" || r.force {
		return r.holder == holder, nil
	}
	user, err := l.user(ctx)
	return holder == user || holder == administratorOf(user), err
}

func refusedRelease(node string, held nodelease.Held) error {
	taken := &nodelease.TakenError{Node: node, Held: held}
	return exit{Blocked, fmt.Errorf("%w; --holder gives it back in that name, and --force breaks it if nobody works there any more", taken)}
}
