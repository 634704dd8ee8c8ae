// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

func newHold(t *cli.Tool) *cobra.Command {
	command := &cobra.Command{
		Use:   "hold",
		Short: "Hand over the nodes that you have taken out of service",
		Long: `Each user that drains a node holds it until its return. 'kubectl slipway status' and
'kubectl get nodeholds' show the holders. For more, see
` + reasons.Docs + `docs/holds.md`,
		Example: `  kubectl slipway hold transfer worker-1 --to bob@example.com`,
		Args:    cobra.NoArgs,
		RunE:    func(command *cobra.Command, _ []string) error { return command.Help() },
	}
	command.AddCommand(newTransfer(t))
	return command
}

// handover has the flags of hold transfer.
type handover struct {
	from, fromActor, to, toActor string
	reason, until                string
}

func newTransfer(t *cli.Tool) *cobra.Command {
	h := &handover{}
	command := t.ForNode(&cobra.Command{
		Use:   "transfer NODE --to USER",
		Short: "Hand a node that you hold over to another user or actor",
		Long: `Changes the holder of a node. From now on, the new holder returns the node. The node stays out of
service, and its drain goes on.

You hand over your own hold. After the expected return of the node (--until of 'drain'), each user with
the role slipway-operator can hand over the hold of another user (--from), and take it so. Before, that
needs the verb release-holds on lifecycleevents.`,
		Example: `  # At the end of the shift
  kubectl slipway hold transfer worker-1 --to bob@example.com --until 06:00

  # Take the node of a holder that is overdue
  kubectl slipway hold transfer worker-1 --from alice@example.com --to bob@example.com`,
	}, func(ctx context.Context, node string) error {
		if h.to == "" && h.toActor == "" {
			return cli.Usagef("the new holder is missing: give --to, or --to-actor for another actor of the same user")
		}
		return h.run(ctx, t, node)
	})
	f := command.Flags()
	f.StringVar(&h.to, "to", "", "the user name of the new holder, as authenticated by the API server; by default, the user stays")
	f.StringVar(&h.toActor, "to-actor", "", "the actor of the new holder, where actors share a user (--actor of 'drain')")
	f.StringVar(&h.from, "from", "", "the user that holds the node now; by default you")
	f.StringVar(&h.fromActor, "from-actor", "", "the actor that holds the node now")
	f.StringVar(&h.reason, "reason", "", "the new purpose, which other users can read; by default, the purpose stays")
	f.StringVar(&h.until, "until", "", "the new expected return of the node, such as 2h or 17:00; by default, there is none")
	return command
}

func (h *handover) run(ctx context.Context, t *cli.Tool, node string) error {
	until, err := expectedReturn(h.until, t.Clock.Now())
	if err != nil {
		return err
	}
	cluster, c, err := t.Open(ctx)
	if err != nil {
		return err
	}
	caller, err := cluster.Caller(ctx)
	if err != nil {
		return fmt.Errorf("ask the API server for your user name: %w", err)
	}
	if h.from == "" {
		h.from = caller
	}
	var all slipwayv1alpha1.NodeHoldList
	if err := c.List(ctx, &all, client.MatchingFields{hold.NodeField: node}); err != nil {
		return fmt.Errorf("list the NodeHolds of node %s: %w", node, err)
	}
	holds, err := h.wanted(node, cli.Pointers(all.Items))
	if err != nil {
		return err
	}
	for _, before := range holds {
		after := before.DeepCopy()
		after.Spec.Until = until
		after.Spec.Transfer = &slipwayv1alpha1.HoldTransfer{By: caller, FromUser: before.Spec.User, FromActor: before.Spec.Actor}
		after.Spec.Actor = h.toActor
		if h.to != "" {
			after.Spec.User = h.to
		}
		if h.reason != "" {
			after.Spec.Purpose = h.reason
		}
		if err := c.Patch(ctx, after, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
			return fmt.Errorf("hand over NodeHold %s: %w", before.Name, err)
		}
		t.Sayf("node/%s: held by %s now, and no longer by %s\n", node, ui.Clean(hold.Actor(after)), ui.Clean(hold.Actor(before)))
	}
	return nil
}

// wanted returns the holds that the flags name.
func (h *handover) wanted(node string, all []*slipwayv1alpha1.NodeHold) ([]*slipwayv1alpha1.NodeHold, error) {
	others := hold.ByUsers(all)[node]
	mine := slices.DeleteFunc(slices.Clone(others), func(o *slipwayv1alpha1.NodeHold) bool {
		return o.Spec.User != h.from || o.Spec.Actor != h.fromActor
	})
	if len(mine) > 0 {
		return mine, nil
	}
	from := hold.Actor(&slipwayv1alpha1.NodeHold{Spec: slipwayv1alpha1.NodeHoldSpec{User: h.from, Actor: h.fromActor}})
	if len(others) == 0 {
		return nil, fmt.Errorf("%s does not hold node %s, and no other user does; 'kubectl get nodeholds' lists the holds", from, node)
	}
	var holders []string
	for _, o := range others {
		text := hold.Actor(o)
		if o.Spec.Until != nil {
			text += " until " + o.Spec.Until.UTC().Format(time.RFC3339)
		}
		holders = append(holders, text)
	}
	return nil, cli.Exitf(cli.Held, "%s does not hold node %s: it is held by %s; --from and --from-actor name another holder",
		from, node, ui.Clean(strings.Join(holders, ", ")))
}
