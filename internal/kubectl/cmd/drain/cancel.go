// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// cancelFlags are the flags of cancel.
type cancelFlags struct {
	cli.Waiting
	nodes cli.Nodes
}

func newCancel(t *cli.Tool) *cobra.Command {
	c := &cancelFlags{}
	command := &cobra.Command{
		Use:   "cancel NODE... | -l SELECTOR",
		Short: "End the LifecycleEvents of nodes, and undo their cordons",
		Long: `Deletes the LifecycleEvents of the nodes that wait or are in progress, of all requesters, and waits
until the API server has deleted them. That ends a drain, and undoes its cordon; evicted pods stay on
their new nodes. A node without LifecycleEvents is no error.`,
		Example: `  kubectl slipway cancel worker-1
  kubectl slipway cancel -l topology.kubernetes.io/zone=a`,
		RunE: func(command *cobra.Command, _ []string) error {
			if err := c.Check(); err != nil {
				return err
			}
			return c.run(command.Context(), t)
		},
	}
	c.nodes.AddTo(command, t)
	c.AddWaiting(command, "wait until the API server has deleted them")
	return command
}

// canceling cancels events.
type canceling struct {
	*cli.Tool
	cluster   cli.Cluster
	requester requester
	events    []*lifecyclev1alpha1.LifecycleEvent
}

func (c *cancelFlags) run(ctx context.Context, t *cli.Tool) error {
	cluster, reader, err := t.Open(ctx)
	if err != nil {
		return err
	}
	nodes := c.nodes.Named // an event can outlive its node
	if c.nodes.Selector != "" {
		if nodes, err = t.WithLabels(ctx, reader, &c.nodes); err != nil {
			return err
		}
	}
	events, err := goingOn(ctx, reader, nodes)
	if err != nil {
		return err
	}
	p := &canceling{Tool: t, cluster: cluster, requester: requester{client: reader, notes: t.ErrOut}, events: events}
	missing := p.sayIdle(ctx, nodes)
	if len(events) == 0 {
		return missing
	}
	p.warn()
	if !c.Wait {
		return errors.Join(p.deleteAll(ctx), missing)
	}
	if err := p.deleteAndWait(ctx, c.Timeout); err != nil {
		return err
	}
	return missing
}

// warn names the events of maintenances.
func (p *canceling) warn() {
	for _, event := range p.events {
		if names := cli.MaintenanceNames(event.Spec.BindingNode, event); len(names) > 0 {
			p.Notef("Warning: node %s is out of service for NodeMaintenance %s: there, it counts as failed; 'kubectl slipway maintenance retry' tries it again.",
				event.Spec.BindingNode, strings.Join(names, ", "))
		}
	}
}

// sayIdle names the nodes that have nothing to cancel. A node that does not exist is an error,
// as far as Nodes may be read.
func (p *canceling) sayIdle(ctx context.Context, nodes []string) error {
	var missing []error
	for _, node := range nodes {
		if slices.ContainsFunc(p.events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.Spec.BindingNode == node }) {
			continue
		}
		if apierrors.IsNotFound(p.requester.client.Get(ctx, client.ObjectKey{Name: node}, &corev1.Node{})) {
			missing = append(missing, cli.NoSuchNode(node))
			continue
		}
		p.Sayf("node/%s has nothing to cancel\n", node)
	}
	return errors.Join(missing...)
}

// goingOn returns the events of the nodes that have not ended.
func goingOn(ctx context.Context, reader client.Reader, nodes []string) ([]*lifecyclev1alpha1.LifecycleEvent, error) {
	var all lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	var events []*lifecyclev1alpha1.LifecycleEvent
	for _, event := range cli.Pointers(all.Items) {
		if slices.Contains(nodes, event.Spec.BindingNode) && !event.Status.ClaimStatus.Terminal() {
			events = append(events, event)
		}
	}
	return events, nil
}

func (p *canceling) deleteAll(ctx context.Context) error {
	for _, event := range p.events {
		if err := p.requester.withdraw(ctx, event); err != nil {
			return err
		}
		p.Sayf("%s is being canceled\n", named(p.cluster.ResourceName(event.Name), event))
	}
	return nil
}

// deleteAndWait deletes the events and reports their ends.
func (p *canceling) deleteAndWait(ctx context.Context, timeout time.Duration) error {
	ctx, stop := cli.Within(ctx, timeout)
	defer stop()
	var followed []progress.Asked
	for _, event := range p.events {
		followed = append(followed, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name, Expected: true})
	}
	f := follow.New(p.cluster.Watched(), &follow.Screen{}, p.Clock, followed...)
	told, err := f.Follow(ctx, func(ctx context.Context) error {
		for _, event := range p.events {
			f.Expect(event)
			if err := p.requester.withdraw(ctx, event); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil && cli.IsOver(ctx) {
		for _, entry := range told.Still(p.Clock.Now()) {
			p.Notef("%s", entry.Line())
		}
		return cli.Exitf(cli.TimedOut, "timed out; the API server deletes the events after their agents have ended them")
	}
	if err != nil {
		return err
	}
	for _, s := range told.All() {
		p.Sayf("%s", canceledText(s, nodeOf(ctx, p.requester.client, s.Node())))
	}
	return nil
}

// named returns the name of an event with its origin, as the beginning of a sentence.
func named(name string, event *lifecyclev1alpha1.LifecycleEvent) string {
	if from := origin(event); from != "" {
		return name + from + ","
	}
	return name
}

// nodeOf returns a Node, or nil if it cannot be read.
func nodeOf(ctx context.Context, reader client.Reader, name string) *corev1.Node {
	var node corev1.Node
	if reader.Get(ctx, client.ObjectKey{Name: name}, &node) != nil {
		return nil
	}
	return &node
}

// canceledText describes the end of a canceled event, and the cordon of its node.
func canceledText(s *progress.Item, node *corev1.Node) string {
	event := named(s.Name(), s.Event())
	text := fmt.Sprintf("node/%s: %s is canceled", s.Node(), event)
	if outcome := s.Outcome(); !outcome.Canceled() {
		text = fmt.Sprintf("node/%s: %s had ended before: %s", s.Node(), event, ui.Clean(outcome.String()))
	}
	switch {
	case node == nil:
		return text + "\n"
	case !node.Spec.Unschedulable:
		return text + "; the node is schedulable\n"
	default:
		return text + fmt.Sprintf("; the node is still cordoned, 'kubectl slipway status %s' shows the owners of its cordon\n", s.Node())
	}
}
