// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func newDone(t *cli.Tool) *cobra.Command {
	accept := false
	command := t.ForNode(&cobra.Command{
		Use:   "done NODE",
		Short: "Report the end of the work on a node, so that it returns to service",
		Long: `Sets the annotation slipway.dev/work-done, with your user name, on the LifecycleEvent of the node's
drain. The node then returns to service, unless a hook or another maintenance holds it. If no
maintenance waits for manual work on the node, it is an error.

A returned node that is not healthy (the node, or a pod of a DaemonSet on it, is not Ready) blocks the
nodes that wait. --accept-unhealthy counts it as returned, with the annotation
slipway.dev/unhealthy-accepted on the LifecycleEvent of its return. A node that is not Ready still
counts as out of service.`,
		Example: `  kubectl slipway done worker-1

  # A pod of another team does not become Ready on the returned node
  kubectl slipway done worker-1 --accept-unhealthy`,
	}, func(ctx context.Context, node string) error { return workDone(ctx, t, node, accept) })
	command.Flags().BoolVar(&accept, "accept-unhealthy", false, "count a node as returned that is not healthy")
	return command
}

// workDone reports the end of the work on a node; with accept, it counts a returned node as healthy.
func workDone(ctx context.Context, t *cli.Tool, node string, accept bool) error {
	c, client, err := t.Open(ctx)
	if err != nil {
		return err
	}
	name, annotation := maintenance.DrainName(node), slipwayv1alpha1.WorkDoneAnnotation
	if accept {
		name, annotation = maintenance.ReturnName(node), slipwayv1alpha1.UnhealthyAcceptedAnnotation
	}
	event, err := eventOf(ctx, client, name, node)
	if err != nil {
		return err
	}
	all, err := cli.ListMaintenances(ctx, client)
	if err != nil {
		return err
	}
	text := "the work is done"
	switch by, already := doneBefore(event, all); {
	case accept:
		why, err := acceptable(node, event, all)
		if err != nil {
			return err
		}
		text = "it counts as returned, in spite of " + why
	case already:
		t.Sayf("node/%s: the work is done already, by %s\n", node, by)
		return nil
	default:
		if err := waitsForWork(node, event, all); err != nil {
			return err
		}
	}
	user, err := c.Caller(ctx)
	if err != nil {
		user = "a user of kubectl slipway"
	}
	if err := annotate(ctx, client, event, annotation, user); err != nil {
		return err
	}
	t.Sayf("node/%s: %s\n", node, text)
	return nil
}

// doneBefore returns the user who has reported already that the work is done. The node may wait for
// another reason since then.
func doneBefore(event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) (by string, already bool) {
	if event == nil || !slices.ContainsFunc(all, func(m *slipwayv1alpha1.NodeMaintenance) bool {
		return isFor(event, m.UID) && workOf(m) == slipwayv1alpha1.WorkManual
	}) {
		return "", false
	}
	by, already = event.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return by, already
}

// workOf returns the type of the work on each node. It is empty without a rollout.
func workOf(m *slipwayv1alpha1.NodeMaintenance) slipwayv1alpha1.WorkType {
	switch {
	case m.Spec.Rollout == nil:
		return ""
	case m.Spec.Work == nil:
		return slipwayv1alpha1.WorkManual
	default:
		return cmp.Or(m.Spec.Work.Type, slipwayv1alpha1.WorkManual)
	}
}

// waitsForWork returns an error if no maintenance waits for work on a node.
func waitsForWork(node string, event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) error {
	last := fmt.Errorf("no maintenance waits for work on node %s; 'kubectl slipway status %s' shows its state", node, node)
	for _, m := range all {
		switch {
		case event == nil && listedStatus(m, node).Phase == slipwayv1alpha1.NodeUnhealthy:
			return waitsFor(node, m)
		case event != nil && isFor(event, m.UID):
			if last = waitsFor(node, m); last == nil {
				return nil
			}
		}
	}
	return last
}

// waitsFor returns the reason why a maintenance does not wait for work on a node.
func waitsFor(node string, m *slipwayv1alpha1.NodeMaintenance) error {
	s := listedStatus(m, node)
	switch work := workOf(m); {
	case work == "":
		return fmt.Errorf("NodeMaintenance %s does not wait for work on single nodes: 'kubectl slipway maintenance stage %s complete' returns all its nodes", m.Name, m.Name)
	case work != slipwayv1alpha1.WorkManual:
		return fmt.Errorf("NodeMaintenance %s does not wait for manual work on node %s: its work has the type %s", m.Name, node, work)
	case s.Phase == "", s.Phase == slipwayv1alpha1.NodeWorking, s.Phase == slipwayv1alpha1.NodeDrained:
		return nil // an empty phase: the status has no room for the node
	case s.Phase == slipwayv1alpha1.NodeUnhealthy:
		return fmt.Errorf("the work on node %s is done, and the node is not healthy (%s), so NodeMaintenance %s waits; "+
			"'kubectl slipway done %s --accept-unhealthy' counts it as returned", node, ui.Clean(s.Reason), m.Name, node)
	default:
		return fmt.Errorf("NodeMaintenance %s does not wait for work on node %s now: the node is %s (%s); 'kubectl slipway explain %s' shows the reason",
			m.Name, node, markOf(s.Phase).word, ui.Clean(cli.OrDash(whyOf(s))), node)
	}
}

// acceptable returns the trouble of a returned node, or an error if no maintenance waits for it.
func acceptable(node string, event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) (why string, err error) {
	ours := func(m *slipwayv1alpha1.NodeMaintenance) bool { return isFor(event, m.UID) }
	if event == nil || event.Status.ClaimStatus != lifecyclev1alpha1.Succeeded || !slices.ContainsFunc(all, ours) {
		return "", fmt.Errorf("no maintenance waits until node %s is healthy: the node has not returned, or counts as returned; "+
			"'kubectl slipway status %s' shows its state", node, node)
	}
	why = "its state"
	for _, m := range all {
		if s := listedStatus(m, node); s.Phase == slipwayv1alpha1.NodeUnhealthy {
			why = ui.Clean(s.Reason)
		}
	}
	return why, nil
}

// listedStatus returns the status of a node. It is empty if the maintenance does not list the node.
func listedStatus(m *slipwayv1alpha1.NodeMaintenance, node string) slipwayv1alpha1.MaintenanceNodeStatus {
	for _, n := range m.Status.NodeStatuses {
		if n.Name == node {
			return n
		}
	}
	return slipwayv1alpha1.MaintenanceNodeStatus{}
}
