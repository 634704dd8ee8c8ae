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

// releaseFlags are the flags of lease release.
type releaseFlags struct {
	holder string
	force  bool
}

func newRelease(t *cli.Tool) *cobra.Command {
	r := &releaseFlags{}
	command := t.ForNode(&cobra.Command{
		Use:   "release NODE",
		Short: "Release the lease of a node, or break another holder's",
		Long: `Releases the lease of a node that you hold: in your own name, as kubeadmin-<your name>, or in the
name of --holder. A free lease is no error.

It refuses to release another holder's lease, with exit code 7. --force breaks such a lease: another
tool may acquire it at once. First make sure that the holder does not work on the node: it detects the
break only at its next renewal. If the holder is Slipway, run 'kubectl slipway cancel NODE' instead.`,
		Example: `  kubectl slipway lease release worker-1
  kubectl slipway lease release worker-1 --holder fwup.example.com`,
	}, func(ctx context.Context, node string) error { return releaseLease(ctx, t, node, r) })
	command.Flags().StringVar(&r.holder, "holder", "", "the holder that releases it (default: you)")
	command.Flags().BoolVar(&r.force, "force", false, "break the lease of another holder")
	return command
}

func releaseLease(ctx context.Context, t *cli.Tool, node string, r *releaseFlags) error {
	l, err := t.Leases()
	if err != nil {
		return err
	}
	standing, err := l.Get(ctx, node)
	if err != nil {
		return leaseTrouble(err)
	}
	held := standing.Held
	if held.Holder == "" {
		// There may be no such node.
		if _, err := l.Find(ctx, node); err != nil {
			return err
		}
		t.Sayf("node/%s: its lease is free\n", node)
		return nil
	}
	own, err := r.isOwn(ctx, l, held.Holder)
	switch {
	case err != nil:
		return err
	case !own && !standing.Taken:
		t.Sayf("node/%s: its lease is free; that of %s has expired\n", node, ui.Clean(held.Holder))
		return nil
	case !own && !r.force:
		return refusedRelease(node, held)
	}
	if err := l.Release(ctx, node, held.Holder); err != nil {
		return leaseTrouble(err)
	}
	if own {
		t.Sayf("node/%s: %s has released its lease\n", node, ui.Clean(held.Holder))
		return nil
	}
	t.Sayf("node/%s: its lease is broken, which %s held since %s; a holder that still works there detects it at its next renewal\n",
		node, ui.Clean(held.Holder), held.Since.UTC().Format(time.RFC3339))
	return nil
}

// isOwn reports whether the holder is the one in the flags, or the caller, by either name.
func (r *releaseFlags) isOwn(ctx context.Context, l cli.Leases, holder string) (bool, error) {
	if r.holder != "" || r.force {
		return r.holder == holder, nil
	}
	user, err := l.User(ctx)
	return holder == user || holder == cli.AdministratorOf(user), err
}

func refusedRelease(node string, held nodelease.Held) error {
	taken := &nodelease.TakenError{Node: node, Held: held}
	return cli.Exitf(cli.Held, "%w; --holder releases it in that name; --force breaks it, if its holder no longer works there", taken)
}
