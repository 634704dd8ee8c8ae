// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

func newCommand(t *cli.Tool) *cobra.Command {
	command := &cobra.Command{
		Use:   "lease",
		Short: "Show the holders of node leases, and keep other tools off a node",
		Long: `Only the holder of a node's lease works on the node; other tools that work on nodes wait. With --node-leases on its controller, Slipway acquires the lease of a node before the cordon, and
releases it after the return.

A lease cordons no node, and does not stop a tool that ignores it. It is a Lease with the name of the
node in namespace kube-node-maintenance. A holder that stops renewing it loses it; the lease of an
administrator, whose holder begins with kubeadmin, never expires. These commands work without Slipway on
the cluster. For more, see
` + reasons.Docs + `docs/how-to/node-leases.md`,
		Example: `  kubectl slipway lease list
  kubectl slipway lease acquire worker-1 --administrator --purpose "new disk"
  kubectl slipway lease release worker-1`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newGet(t), newList(t), newAcquire(t), newRelease(t))
	return command
}

// leaseTrouble adds the remedy to an error, where one is known.
func leaseTrouble(err error) error {
	taken, isTaken := errors.AsType[*nodelease.TakenError](err)
	switch {
	case err == nil:
		return nil
	case isTaken:
		return cli.Exitf(cli.Held, "%w; wait for its release, or break it if its holder no longer works there: kubectl slipway lease release %s --force",
			taken, taken.Node)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; Role slipway-lease-holder in namespace %s allows it; slipway-lease-viewer allows reading", err, nodelease.Namespace)
	case apierrors.IsNotFound(err) && !errors.Is(err, nodelease.ErrNotHolder):
		return fmt.Errorf("%w ('kubectl slipway install --node-leases' creates it, or 'kubectl create namespace %s')", err, nodelease.Namespace)
	default:
		return err
	}
}
