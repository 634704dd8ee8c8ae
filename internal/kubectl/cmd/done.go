// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func newDone(t *tool) *cobra.Command {
	accept := false
	command := &cobra.Command{
		Use:   "done NODE",
		Short: "Say that the work on a node is done, so that it returns",
		Long: `Tells the maintenances that wait for somebody's work on the node that it is done, and by whom:
with the annotation slipway.dev/work-done on the LifecycleEvent of its drain. The node then
returns, unless a hook or another maintenance holds it.

Where nothing waits for work on the node, it is an error.

A node that is back and not healthy (not Ready, or pods of DaemonSets on it are not) holds up the
nodes that wait. Where nobody can make it healthy, --accept-unhealthy has it count as back as it
is: with the annotation slipway.dev/unhealthy-accepted on the LifecycleEvent of its return. One that
is not Ready is still counted as out.`,
		Example: `  kubectl slipway done worker-1

  # It is back, and a pod of another team's does not become Ready there
  kubectl slipway done worker-1 --accept-unhealthy`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, args []string) error {
			choice := &nodeChoice{}
			if err := choice.take(args); err != nil {
				return err
			}
			if accept {
				return t.acceptUnhealthy(command.Context(), choice.named[0])
			}
			return t.workDone(command.Context(), choice.named[0])
		},
	}
	command.Flags().BoolVar(&accept, "accept-unhealthy", false, "the node is back and not healthy: let it count as back as it is")
	command.ValidArgsFunction = t.completeNode
	return command
}

func (t *tool) workDone(ctx context.Context, node string) error {
	c, client, err := t.openMaintenances(ctx)
	if err != nil {
		return err
	}
	event, err := maintenanceEvent(ctx, client, node)
	if err != nil {
		return err
	}
	all, err := listMaintenances(ctx, client)
	if err != nil {
		return err
	}
	if by, told := toldDone(event, all); told {
		t.say(fmt.Sprintf("node/%s: the work is done already, by %s\n", node, ui.Clean(by)))
		return nil
	}
	if err := waitsForWork(node, event, all); err != nil {
		return err
	}
	if err := annotate(ctx, client, event, slipwayv1alpha1.WorkDoneAnnotation, t.whoami(ctx, c)); err != nil {
		return err
	}
	t.say(fmt.Sprintf("node/%s: the work is done\n", node))
	return nil
}

// whoami is the caller as the API server knows them.
func (t *tool) whoami(ctx context.Context, c cluster) string {
	const somebody = "somebody with kubectl slipway"
	clients, err := kubernetes.NewForConfigAndClient(c.config, c.http)
	if err != nil {
		return somebody
	}
	review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return somebody
	}
	return cmp.Or(review.Status.UserInfo.Username, somebody)
}

// toldDone says by whom a maintenance was told already that the work is done, though
// something else may hold the node since then.
func toldDone(event *lifecyclev1alpha1.LifecycleEvent, all []*slipwayv1alpha1.NodeMaintenance) (by string, told bool) {
	if event == nil || !slices.ContainsFunc(all, func(m *slipwayv1alpha1.NodeMaintenance) bool { return isFor(event, m.UID) && byHand(m) }) {
		return "", false
	}
	by, told = event.Annotations[slipwayv1alpha1.WorkDoneAnnotation]
	return by, told
}

// byHand says whether people do the work of a maintenance, a node after the other.
func byHand(m *slipwayv1alpha1.NodeMaintenance) bool {
	return m.Spec.Rollout != nil && (m.Spec.Work == nil || m.Spec.Work.Type == slipwayv1alpha1.WorkManual)
}

// waitsForWork is an error where nobody waits for work on a node, and says what is there
// instead.
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

// waitsFor is why a maintenance does not wait for work on a node.
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
		return nil // its status has no room for it
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

// drainedBefore says whether what holds a node comes after its drain: its message begins with
// the point at which it waits.
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
