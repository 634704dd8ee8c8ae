// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/nodelease"
)

func newLease(t *cli.Tool) *cobra.Command {
	command := &cobra.Command{
		Use:   "lease",
		Short: "Show who works on a node, and keep other tools off it",
		Long: `Of several tools that reboot, drain, change or delete nodes, the one that holds the lease of a
node works on it, and the others wait. Slipway takes the lease of a node before it cordons it,
if its controller runs with --node-leases, and gives it back when the node has returned.

A lease is an agreement: it cordons nothing, and does not stop tools that ignore it. It is a
Lease in namespace kube-node-maintenance with the name of the node. A holder that no longer
renews it, because it has crashed, loses it when its time is over. The lease of an administrator,
whose holder begins with kubeadmin, never expires.

None of these commands needs Slipway on the cluster.`,
		Example: `  kubectl slipway lease list
  kubectl slipway lease acquire worker-1 --administrator --purpose "new disk"
  kubectl slipway lease release worker-1`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	for _, newCommand := range []func(*cli.Tool) *cobra.Command{newLeaseGet, newLeaseList, newLeaseAcquire, newLeaseRelease} {
		command.AddCommand(newCommand(t))
	}
	return command
}

// leaseTrouble adds the remedy to an error, where one is known.
func leaseTrouble(err error) error {
	taken, isTaken := errors.AsType[*nodelease.TakenError](err)
	switch {
	case err == nil:
		return nil
	case isTaken:
		return cli.Exitf(cli.Held, "%w; wait until it is given back, or break it if its holder does not work there any more: kubectl slipway lease release %s --force",
			taken, taken.Node)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; Role slipway-lease-holder in namespace %s allows it; slipway-lease-viewer allows reading", err, nodelease.Namespace)
	case apierrors.IsNotFound(err) && !errors.Is(err, nodelease.ErrNotHolder):
		return fmt.Errorf("%w ('kubectl slipway install --node-leases' creates it, or 'kubectl create namespace %s')", err, nodelease.Namespace)
	default:
		return err
	}
}
