// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// acceptUnhealthy has a node count as back that is not healthy.
func (t *tool) acceptUnhealthy(ctx context.Context, node string) error {
	c, client, err := t.openMaintenances(ctx)
	if err != nil {
		return err
	}
	event, err := eventOf(ctx, client, maintenance.ReturnName(node), node)
	if err != nil {
		return err
	}
	all, err := listMaintenances(ctx, client)
	if err != nil {
		return err
	}
	why, err := acceptable(node, event, all)
	if err != nil {
		return err
	}
	if err := annotate(ctx, client, event, slipwayv1alpha1.UnhealthyAcceptedAnnotation, t.whoami(ctx, c)); err != nil {
		return err
	}
	t.say(fmt.Sprintf("node/%s: it counts as back as it is, in spite of %s\n", node, ui.Clean(why)))
	return nil
}

// acceptable is what is accepted of a node, or why there is nothing to accept.
func acceptable(node string, event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) (why string, err error) {
	ours := func(m *slipwayv1alpha1.NodeMaintenance) bool { return isFor(event, m.UID) }
	if event == nil || event.Status.ClaimStatus != lifecyclev1alpha1.Succeeded || !slices.ContainsFunc(all, ours) {
		return "", fmt.Errorf("no maintenance waits for node %s to be healthy: it is not back from one, or has been counted as back; "+
			"'kubectl slipway status %s' says how it is", node, node)
	}
	if m := unhealthyFor(node, all); m != nil {
		why = listedStatus(m, node).Reason
	}
	return cmp.Or(why, "how it is"), nil
}

// unhealthyFor is a maintenance that says of a node that it is back, and not healthy.
func unhealthyFor(node string, all []*slipwayv1alpha1.NodeMaintenance) *slipwayv1alpha1.NodeMaintenance {
	for _, m := range all {
		if listedStatus(m, node).Phase == slipwayv1alpha1.NodeUnhealthy {
			return m
		}
	}
	return nil
}

// listedStatus is empty where the status does not list the node.
func listedStatus(m *slipwayv1alpha1.NodeMaintenance, node string) slipwayv1alpha1.MaintenanceNodeStatus {
	i := slices.IndexFunc(m.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return n.Name == node })
	if i < 0 {
		return slipwayv1alpha1.MaintenanceNodeStatus{}
	}
	return m.Status.NodeStatuses[i]
}

// notHealthy is what to do about such a node.
func notHealthy(node string, m *slipwayv1alpha1.NodeMaintenance) error {
	return fmt.Errorf("the work on node %s is done, and the node is not healthy (%s): NodeMaintenance %s waits for that; "+
		"'kubectl slipway done %s --accept-unhealthy' has it count as back as it is", node, ui.Clean(listedStatus(m, node).Reason), m.Name, node)
}
