// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/nodelease"
)

// leaseReleaseFlags are the flags of lease release.
type leaseReleaseFlags struct {
	node, holder string
	force        bool
}

func newLeaseRelease(t *cli.Tool) *cobra.Command {
	r := &leaseReleaseFlags{}
	command := &cobra.Command{
		Use:   "release NODE",
		Short: "Give the lease of a node back, or break another holder's",
		Long: `Gives back the lease of a node that you hold: in your own name, as kubeadmin-<your name>, or
in the name that --holder gives. If the lease is free, the command says so; that is no error.

It refuses to give back another holder's lease, with exit code 7. --force breaks such a lease:
the next tool may take it at once. First make sure that its holder does not work on the node: it
learns of the break only when it renews the lease, and leases are there so that no two tools work
on a node. If the holder is Slipway, cancel its work: 'kubectl slipway cancel NODE'.`,
		Example: `  kubectl slipway lease release worker-1
  kubectl slipway lease release worker-1 --holder fwup.example.com
  kubectl slipway lease release worker-1 --force`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteNodes(1),
		RunE: func(command *cobra.Command, args []string) (err error) {
			if r.node, err = cli.OneNode(args); err != nil {
				return err
			}
			l, err := t.Leases()
			if err != nil {
				return err
			}
			return releaseLease(command.Context(), t, l, r)
		},
	}
	f := command.Flags()
	f.StringVar(&r.holder, "holder", "", "the holder that gives it back (default: you)")
	f.BoolVar(&r.force, "force", false, "break the lease of another holder")
	return command
}

func releaseLease(ctx context.Context, t *cli.Tool, l cli.Leases, r *leaseReleaseFlags) error {
	standing, err := l.Get(ctx, r.node)
	if err != nil {
		return leaseTrouble(err)
	}
	held := standing.Held
	if held.Holder == "" {
		// The node may be gone, or misspelled.
		if err := l.Find(ctx, r.node); err != nil {
			return err
		}
		t.Sayf("node/%s: its lease is free\n", r.node)
		return nil
	}
	own, err := r.isOwn(ctx, l, held.Holder)
	switch {
	case err != nil:
		return err
	case !own && !standing.Taken:
		t.Sayf("node/%s: its lease is free; that of %s has expired\n", r.node, ui.Clean(held.Holder))
		return nil
	case !own && !r.force:
		return refusedRelease(r.node, held)
	}
	if err := l.Release(ctx, r.node, held.Holder); err != nil {
		return leaseTrouble(err)
	}
	if own {
		t.Sayf("node/%s: its lease is given back by %s\n", r.node, ui.Clean(held.Holder))
		return nil
	}
	t.Sayf("node/%s: its lease is broken, which %s held since %s; if that holder still works there, it learns of it when it renews the lease\n",
		r.node, ui.Clean(held.Holder), held.Since.UTC().Format(time.RFC3339))
	return nil
}

// isOwn says whether the holder is that of the flags, or else the caller, by either name.
func (r *leaseReleaseFlags) isOwn(ctx context.Context, l cli.Leases, holder string) (bool, error) {
	if r.holder != "" || r.force {
		return r.holder == holder, nil
	}
	user, err := l.User(ctx)
	return holder == user || holder == cli.AdministratorOf(user), err
}

func refusedRelease(node string, held nodelease.Held) error {
	taken := &nodelease.TakenError{Node: node, Held: held}
	return cli.Exitf(cli.Held, "%w; --holder gives it back in that name; --force breaks it, if its holder does not work there any more", taken)
}
