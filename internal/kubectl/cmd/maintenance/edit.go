// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// edit changes a maintenance, and says whether that made a difference.
type edit func(*slipwayv1alpha1.NodeMaintenance) (changed bool, err error)

// editArg changes the maintenance that an argument names.
func editArg(ctx context.Context, t *cli.Tool, arg string, f edit) (m *slipwayv1alpha1.NodeMaintenance, changed bool, err error) {
	name, err := cli.CutMaintenance(arg)
	if err != nil {
		return nil, false, err
	}
	_, client, err := t.Open(ctx)
	if err != nil {
		return nil, false, err
	}
	return change(ctx, client, name, f)
}

// change reads a maintenance, edits it, and writes what has changed. If it was changed
// meanwhile, it starts again.
func change(ctx context.Context, c client.Client, name string, f edit) (m *slipwayv1alpha1.NodeMaintenance, changed bool, err error) {
	var refused bool // by the read or by f, not by the write
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		refused = true
		if m, err = cli.GetMaintenance(ctx, c, name); err != nil {
			return err
		}
		before := m.DeepCopy()
		if changed, err = f(m); err != nil || !changed {
			return err
		}
		refused = false
		return c.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil && !refused {
		return nil, false, fmt.Errorf("change NodeMaintenance %s: %w", name, err)
	}
	return m, changed, err
}

// overError means that nothing can be changed any more.
func overError(r *maintenanceRow) error {
	return fmt.Errorf("NodeMaintenance %s has %s: nothing is left to do", r.Name, pastOf(r.State))
}

func newMaintenancePause(t *cli.Tool) *cobra.Command {
	return &cobra.Command{
		Use:   "pause NAME",
		Short: "Start no more nodes and no more steps",
		Long: `Sets spec.paused. The maintenance starts no node, and no next step of a node: a drained node
stays drained. Drains and Jobs that have begun go on.`,
		Example:           `  kubectl slipway maintenance pause rack-upgrade`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteMaintenance(1, nil),
		RunE: func(command *cobra.Command, args []string) error {
			m, changed, err := editArg(command.Context(), t, args[0], paused)
			switch {
			case err != nil:
				return err
			case !changed:
				t.Sayf("%s is paused already\n", cli.MaintenanceName(m.Name))
			default:
				t.Sayf("%s paused; steps that have begun on the %s that are out go on\n", cli.MaintenanceName(m.Name), ui.Count(int(m.Status.Nodes.Out), "node", "nodes"))
			}
			return nil
		},
	}
}

// paused pauses a maintenance.
func paused(m *slipwayv1alpha1.NodeMaintenance) (changed bool, err error) {
	if row := rowOfMaintenance(m); row.over() {
		return false, overError(&row)
	}
	changed = !m.Spec.Paused
	m.Spec.Paused = true
	return changed, nil
}

func newMaintenanceResume(t *cli.Tool) *cobra.Command {
	var after int32
	command := &cobra.Command{
		Use:   "resume NAME",
		Short: "Go on with a maintenance that is paused, also by its --pause-after",
		Long: `Unsets spec.paused. Where the maintenance is paused because as many nodes have returned as
--pause-after gave, that limit goes as well, and the maintenance goes on to its end; with
--pause-after, it pauses again when that many more nodes have returned.`,
		Example: `  kubectl slipway maintenance resume rack-upgrade

  # The first nodes are well: do ten more, and pause again
  kubectl slipway maintenance resume rack-upgrade --pause-after 10`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteMaintenance(1, nil),
		RunE: func(command *cobra.Command, args []string) error {
			if after < 0 {
				return cli.Usagef("--pause-after: %d is not a number of nodes", after)
			}
			m, changed, err := editArg(command.Context(), t, args[0], func(m *slipwayv1alpha1.NodeMaintenance) (bool, error) { return resumed(m, after) })
			switch {
			case err != nil:
				return err
			case !changed:
				t.Sayf("%s is not paused\n", cli.MaintenanceName(m.Name))
			case m.Spec.Rollout != nil && m.Spec.Rollout.PauseAfter != nil:
				t.Sayf("%s resumed, until %d nodes have returned\n", cli.MaintenanceName(m.Name), *m.Spec.Rollout.PauseAfter)
			default:
				t.Sayf("%s resumed\n", cli.MaintenanceName(m.Name))
			}
			return nil
		},
	}
	command.Flags().Int32Var(&after, "pause-after", 0, "pause again when this many more nodes have returned; 0: go on to the end")
	return command
}

// resumed resumes a maintenance, for this many more nodes, or to its end.
func resumed(m *slipwayv1alpha1.NodeMaintenance, after int32) (changed bool, err error) {
	if row := rowOfMaintenance(m); row.over() {
		return false, overError(&row)
	}
	changed = m.Spec.Paused
	m.Spec.Paused = false
	rollout := m.Spec.Rollout
	switch {
	case rollout == nil && after > 0:
		return false, cli.Usagef("--pause-after: NodeMaintenance %s has no rollout: its nodes are out together", m.Name)
	case after > 0:
		limit := m.Status.Nodes.Returned + after
		changed = changed || rollout.PauseAfter == nil || *rollout.PauseAfter != limit
		rollout.PauseAfter = &limit
	case rollout != nil && rollout.PauseAfter != nil && m.Status.Nodes.Returned+m.Status.Nodes.Out >= *rollout.PauseAfter:
		// Nodes that are out count as well: they are why no node starts, and a node that is back
		// counts as out until its event is gone.
		rollout.PauseAfter, changed = nil, true
	}
	return changed, nil
}

func newMaintenanceRetry(t *cli.Tool) *cobra.Command {
	return &cobra.Command{
		Use:   "retry NAME",
		Short: "Try failed nodes again, and nodes whose drains wait for each other",
		Long: `Raises spec.retry, and names the failed nodes with the reasons. A node whose drain still exists
goes on from where it is, without another drain and without waiting for its turn: remaining pods
leave, hooks that are not open are asked again, and a new Job does the work anew. A node whose
drain has failed or was canceled, or whose return has failed, waits for its turn as nodes do that
have not begun, and then goes all the way from the drain on.

Where drains of nodes wait for each other (reason Deadlock) because each node has given way as
often as it may, they give way anew. Before that, add room, or relax the PodDisruptionBudgets that
the status names: else it ends as before. Without a rollout, no node gives way.`,
		Example: `  # See the reasons first
  kubectl slipway maintenance status rack-upgrade
  kubectl slipway maintenance retry rack-upgrade`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: t.CompleteMaintenance(1, nil),
		RunE: func(command *cobra.Command, args []string) error {
			var failed, stuck []slipwayv1alpha1.MaintenanceNodeStatus
			m, changed, err := editArg(command.Context(), t, args[0], func(m *slipwayv1alpha1.NodeMaintenance) (again bool, err error) {
				failed, stuck, again, err = retried(m)
				return again, err
			})
			if err != nil {
				return err
			}
			t.Sayf("%s", retriedText(m, failed, stuck, changed))
			return nil
		},
	}
}

// retriedText says what is tried again.
func retriedText(m *slipwayv1alpha1.NodeMaintenance, failed, stuck []slipwayv1alpha1.MaintenanceNodeStatus, changed bool) string {
	if !changed {
		return cli.MaintenanceName(m.Name) + " has no failed nodes, and none that could give way to each other\n"
	}
	var text strings.Builder
	for _, n := range failed {
		fmt.Fprintf(&text, "node/%s is tried again, after %s\n", ui.Clean(n.Name), ui.Clean(cli.OrDash(whyOf(n))))
	}
	if more := int(m.Status.Nodes.Failed) - len(failed); more > 0 {
		fmt.Fprintf(&text, "and %s\n", ui.Count(more, "more node", "more nodes"))
	}
	for _, n := range stuck {
		fmt.Fprintf(&text, "node/%s may give way again to the nodes whose drains wait for its own\n", ui.Clean(n.Name))
	}
	return text.String()
}

// retried tries the failed nodes again. Stuck nodes, whose drains wait for each other, give way
// again, if there is a rollout.
func retried(m *slipwayv1alpha1.NodeMaintenance) (failed, stuck []slipwayv1alpha1.MaintenanceNodeStatus, changed bool, err error) {
	row := rowOfMaintenance(m)
	if row.over() || row.Stage == slipwayv1alpha1.StageComplete {
		return nil, nil, false, fmt.Errorf("NodeMaintenance %s is complete, and starts nothing any more: maintain the nodes under another name", m.Name)
	}
	for _, n := range m.Status.NodeStatuses {
		switch {
		case n.Phase == slipwayv1alpha1.NodeFailed:
			failed = append(failed, n)
		case n.Reason == slipwayv1alpha1.ReasonDeadlock && m.Spec.Rollout != nil:
			stuck = append(stuck, n)
		}
	}
	if len(failed) == 0 && len(stuck) == 0 && m.Status.Nodes.Failed == 0 {
		return nil, nil, false, nil
	}
	m.Spec.Retry++
	return failed, stuck, true, nil
}
