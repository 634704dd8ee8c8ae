// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func newDone(t *cli.Tool) *cobra.Command {
	accept := false
	command := &cobra.Command{
		Use:   "done NODE",
		Short: "Report that the work on a node is done, so that it returns to service",
		Long: `Reports to the maintenances that wait for manual work on the node that it is done, and by whom:
with the annotation slipway.dev/work-done on the LifecycleEvent of its drain. The node then
returns to service, unless a hook or another maintenance holds it.

Where no maintenance waits for work on the node, it is an error.

A node that has returned and is not healthy (the node, or a pod of a DaemonSet on it, is not Ready)
blocks the nodes that wait. Where nobody can make it healthy, --accept-unhealthy counts it as
returned: with the annotation slipway.dev/unhealthy-accepted on the LifecycleEvent of its return.
A node that is not Ready still counts as out.`,
		Example: `  kubectl slipway done worker-1

  # It has returned, and a pod of another team does not become Ready there
  kubectl slipway done worker-1 --accept-unhealthy`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			node, err := cli.OneNode(args)
			if err != nil {
				return err
			}
			if accept {
				return acceptUnhealthy(command.Context(), t, node)
			}
			return workDone(command.Context(), t, node)
		},
	}
	command.Flags().BoolVar(&accept, "accept-unhealthy", false, "count a node as returned that is not healthy")
	command.ValidArgsFunction = t.CompleteNodes(1)
	return command
}

func workDone(ctx context.Context, t *cli.Tool, node string) error {
	c, client, err := t.Open(ctx)
	if err != nil {
		return err
	}
	event, err := maintenanceEvent(ctx, client, node)
	if err != nil {
		return err
	}
	all, err := cli.ListMaintenances(ctx, client)
	if err != nil {
		return err
	}
	if by, told := toldDone(event, all); told {
		t.Sayf("node/%s: the work is done already, by %s\n", node, ui.Clean(by))
		return nil
	}
	if err := waitsForWork(node, event, all); err != nil {
		return err
	}
	if err := annotate(ctx, client, event, slipwayv1alpha1.WorkDoneAnnotation, whoami(ctx, c)); err != nil {
		return err
	}
	t.Sayf("node/%s: the work is done\n", node)
	return nil
}

// whoami returns the user name of the caller.
func whoami(ctx context.Context, c cli.Cluster) string {
	const unknown = "a user of kubectl slipway"
	clients, err := c.Kubernetes()
	if err != nil {
		return unknown
	}
	user, err := cli.Caller(ctx, clients)
	if err != nil {
		return unknown
	}
	return cmp.Or(user, unknown)
}

// toldDone returns who has reported already that the work is done. The node may wait for something
// else since then.
func toldDone(event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) (by string, told bool) {
	if event == nil || !slices.ContainsFunc(all, func(m *slipwayv1alpha1.NodeMaintenance) bool { return isFor(event, m.UID) && byHand(m) }) {
		return "", false
	}
	by, told = event.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return by, told
}

// byHand says whether people do the work of a maintenance, node by node.
func byHand(m *slipwayv1alpha1.NodeMaintenance) bool {
	return m.Spec.Rollout != nil && (m.Spec.Work == nil || m.Spec.Work.Type == slipwayv1alpha1.WorkManual)
}

// waitsForWork returns an error where no maintenance waits for work on a node.
func waitsForWork(node string, event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) error {
	if m := unhealthyFor(node, all); event == nil && m != nil {
		return notHealthy(node, m)
	}
	if event == nil {
		return fmt.Errorf("nothing waits for work on node %s: no maintenance has it out; 'kubectl slipway status %s' says how it is", node, node)
	}
	var last error
	for _, m := range all {
		if !isFor(event, m.UID) {
			continue
		}
		if last = waitsFor(node, m); last == nil {
			return nil
		}
	}
	if last == nil {
		last = fmt.Errorf("nothing waits for work on node %s; 'kubectl slipway status %s' says how it is", node, node)
	}
	return last
}

// waitsFor returns why a maintenance does not wait for work on a node.
func waitsFor(node string, m *slipwayv1alpha1.NodeMaintenance) error {
	work := m.Spec.Work
	switch {
	case m.Spec.Rollout == nil:
		return fmt.Errorf("nothing waits for work on node %s by itself: 'kubectl slipway maintenance stage %s complete' returns all nodes of NodeMaintenance %s",
			node, m.Name, m.Name)
	case work != nil && work.Type == slipwayv1alpha1.WorkJob:
		return fmt.Errorf("nothing waits for somebody's work on node %s: NodeMaintenance %s has it done by a Job of PodTemplate %s",
			node, m.Name, ui.Clean(work.PodTemplate))
	case work != nil && work.Type == slipwayv1alpha1.WorkNone:
		return fmt.Errorf("nothing waits for work on node %s: NodeMaintenance %s has none", node, m.Name)
	}
	i := slices.IndexFunc(m.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return n.Name == node })
	if i < 0 {
		return nil // the status has no room for it
	}
	switch s := m.Status.NodeStatuses[i]; {
	case s.Phase == slipwayv1alpha1.NodeWorking, s.Phase == slipwayv1alpha1.NodeDrained:
		return nil
	case s.Phase == slipwayv1alpha1.NodeHeld && drainedBefore(s):
		return fmt.Errorf("node %s is drained, and held: %s; so nothing waits for work on it yet; "+
			"'kubectl slipway explain %s' says how it is", node, ui.Clean(s.Message), node)
	case s.Phase == slipwayv1alpha1.NodeHeld, s.Phase == slipwayv1alpha1.NodeDraining:
		return fmt.Errorf("node %s is not drained yet (%s), so nothing can have been done to it that NodeMaintenance %s waits for; "+
			"'kubectl slipway explain %s' says how it is", node, markOf(s.Phase).word, m.Name, node)
	case s.Phase == slipwayv1alpha1.NodeUnhealthy:
		return notHealthy(node, m)
	default:
		return fmt.Errorf("nothing waits for work on node %s; 'kubectl slipway maintenance status %s' says how far it is: %s", node, m.Name, markOf(s.Phase).word)
	}
}

// drainedBefore says whether a held node is drained: its message begins with the hook point at
// which it waits.
func drainedBefore(s slipwayv1alpha1.MaintenanceNodeStatus) bool {
	return slices.ContainsFunc([]slipwayv1alpha1.HookPoint{slipwayv1alpha1.AfterDrain, slipwayv1alpha1.BeforeReturn}, func(at slipwayv1alpha1.HookPoint) bool {
		return strings.HasPrefix(s.Message, string(at)+": ")
	})
}

// annotationPatch sets an annotation of this very event.
func annotationPatch(event *lifecyclev1alpha1.LifecycleEvent, key, value string) []byte {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": event.UID, "annotations": map[string]string{key: value},
	}})
	if err != nil {
		panic(err) // only strings are encoded
	}
	return patch
}

// acceptUnhealthy counts a node as returned that is not healthy.
func acceptUnhealthy(ctx context.Context, t *cli.Tool, node string) error {
	c, client, err := t.Open(ctx)
	if err != nil {
		return err
	}
	event, err := eventOf(ctx, client, maintenance.ReturnName(node), node)
	if err != nil {
		return err
	}
	all, err := cli.ListMaintenances(ctx, client)
	if err != nil {
		return err
	}
	why, err := acceptable(node, event, all)
	if err != nil {
		return err
	}
	if err := annotate(ctx, client, event, slipwayv1alpha1.UnhealthyAcceptedAnnotation, whoami(ctx, c)); err != nil {
		return err
	}
	t.Sayf("node/%s: it counts as back as it is, in spite of %s\n", node, ui.Clean(why))
	return nil
}

// acceptable returns what is accepted of a node, or why there is nothing to accept.
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

// unhealthyFor returns a maintenance in whose status a node has returned and is not healthy.
func unhealthyFor(node string, all []*slipwayv1alpha1.NodeMaintenance) *slipwayv1alpha1.NodeMaintenance {
	for _, m := range all {
		if listedStatus(m, node).Phase == slipwayv1alpha1.NodeUnhealthy {
			return m
		}
	}
	return nil
}

// listedStatus returns the status of a node, empty where it is not listed.
func listedStatus(m *slipwayv1alpha1.NodeMaintenance, node string) slipwayv1alpha1.MaintenanceNodeStatus {
	i := slices.IndexFunc(m.Status.NodeStatuses, func(n slipwayv1alpha1.MaintenanceNodeStatus) bool { return n.Name == node })
	if i < 0 {
		return slipwayv1alpha1.MaintenanceNodeStatus{}
	}
	return m.Status.NodeStatuses[i]
}

// notHealthy returns the error about such a node, with what helps.
func notHealthy(node string, m *slipwayv1alpha1.NodeMaintenance) error {
	return fmt.Errorf("the work on node %s is done, and the node is not healthy (%s): NodeMaintenance %s waits for that; "+
		"'kubectl slipway done %s --accept-unhealthy' has it count as back as it is", node, ui.Clean(listedStatus(m, node).Reason), m.Name, node)
}
