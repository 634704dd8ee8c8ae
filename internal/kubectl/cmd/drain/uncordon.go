// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/request"
	"github.com/slipway-k8s/slipway/nodelease"
)

// uncordonFlags are the flags of uncordon.
type uncordonFlags struct {
	cli.Waiting
	nodes cli.Nodes
	by    request.By
	all   bool
}

func newUncordon(t *cli.Tool) *cobra.Command {
	u := &uncordonFlags{}
	command := &cobra.Command{
		Use:   "uncordon NODE... | -l SELECTOR",
		Short: "Return nodes to service after a drain",
		Long: `Requests the return of each of the nodes to service, and follows it. Slipway undoes its own
cordons. A node that another party cordoned before stays cordoned: the command names that party,
and ends with exit code 7. It refuses, with the same code, a node that another holder has leased.

Each user that drains a node holds it ('kubectl get nodeholds'). The command releases your holds. While
other users hold the node, or a maintenance does, it stays out of service: the command names them, and
ends with exit code 7. With --release-all it releases the holds of all users. The hold of a maintenance
ends with 'kubectl slipway maintenance abort'.

While a node is being drained, uncordon is an error: 'kubectl slipway cancel' ends the drain, and
undoes its cordon.`,
		Example: `  kubectl slipway uncordon worker-1
  kubectl slipway uncordon -l topology.kubernetes.io/zone=a --wait=false`,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := errors.Join(u.Check(), checkBy(u.by)); err != nil {
				return err
			}
			return u.run(command.Context(), t)
		},
	}
	u.nodes.AddTo(command, t)
	u.AddWaiting(command, "follow the returns to their end")
	addBy(command, &u.by)
	command.Flags().BoolVar(&u.all, "release-all", false, "release the holds of all users; needs the verb release-holds on lifecycleevents")
	u.AddDryRun(command)
	u.Output = cli.AddOutput(command.Flags(), cli.JSON, cli.YAML, cli.Name)
	return command
}

func (u *uncordonFlags) run(ctx context.Context, t *cli.Tool) error {
	p, nodes, err := newPursuit(ctx, t, &u.nodes, &u.Waiting)
	if err != nil || len(nodes) == 0 {
		return err
	}
	if !u.by.BreakGlass {
		if err := mayReturn(ctx, t, &u.nodes); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		p.wanted = append(p.wanted, request.Return(node, u.by, u.all))
	}
	p.verb = uncordoned
	return p.run(ctx)
}

// mayReturn refuses the return of nodes that another holder has leased: the LifecycleEvent of a
// return does not wait for leases. The holder of the lease may return its node.
func mayReturn(ctx context.Context, t *cli.Tool, n *cli.Nodes) error {
	if len(n.Leased) == 0 {
		return nil
	}
	l, err := t.Leases()
	if err != nil {
		return err
	}
	user, _ := l.User(ctx) // an unknown user has leased nothing
	var refusals []error
	for _, node := range slices.Sorted(maps.Keys(n.Leased)) {
		held := n.Leased[node]
		if standing, err := l.Get(ctx, node); err == nil { // otherwise, the lease on the Node counts
			held = standing.Held
			if !standing.Taken {
				continue
			}
		}
		if held.Holder != nodelease.Slipway && !cli.IsHolder(user, held) {
			refusals = append(refusals, fmt.Errorf("node %s is leased to %s; wait for its release, or, if the holder no longer works there: "+
				"kubectl slipway lease release %s --force", node, cli.HolderText(held), node))
		}
	}
	if len(refusals) > 0 {
		return cli.ExitError{Code: cli.Held, Err: errors.Join(refusals...)}
	}
	return nil
}
