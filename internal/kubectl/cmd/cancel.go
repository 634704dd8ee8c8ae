// SPDX-License-Identifier: Apache-2.0

package cmd

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
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// cancelFlags are those of cancel.
type cancelFlags struct {
	nodes   nodeChoice
	event   string
	wait    bool
	timeout time.Duration
}

func newCancel(t *tool) *cobra.Command {
	c := &cancelFlags{}
	command := &cobra.Command{
		Use:   "cancel NODE... | -l SELECTOR",
		Short: "End what is going on with nodes, and undo its cordon",
		Long: `Deletes the LifecycleEvents of the nodes that are waiting or going on, whoever asked for them,
and waits until they are gone. That ends a drain, and undoes its cordon; pods that have left
stay where they are. If there is nothing to cancel, it says so, and that is no error.`,
		Example: `  kubectl slipway cancel worker-1
  kubectl slipway cancel worker-1 --event drain-worker-1`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
		RunE: func(command *cobra.Command, args []string) error {
			if err := c.nodes.take(args); err != nil {
				return err
			}
			return t.cancel(command.Context(), c)
		},
	}
	c.nodes.addSelector(command)
	f := command.Flags()
	f.StringVar(&c.event, "event", "", "only the LifecycleEvent of this name")
	f.BoolVar(&c.wait, "wait", true, "wait until they are gone")
	f.DurationVar(&c.timeout, "timeout", 0, "how long to wait; 0: without limit")
	return command
}

func (t *tool) cancel(ctx context.Context, c *cancelFlags) error {
	cluster, reader, err := t.open(ctx)
	if err != nil {
		return err
	}
	nodes := c.nodes.named // they may be gone, and their events not
	if c.nodes.selector != "" {
		if nodes, err = t.withLabels(ctx, reader, &c.nodes); err != nil {
			return err
		}
	}
	events, err := goingOn(ctx, reader, nodes, c.event)
	if err != nil {
		return err
	}
	if len(events) == 0 && c.event != "" {
		return fmt.Errorf("LifecycleEvent %s is not going on, on none of the nodes; 'kubectl slipway status' lists what is", c.event)
	}
	missing := t.sayIdle(ctx, reader, nodes, events)
	if len(events) == 0 {
		return missing
	}
	t.warnOfMaintenances(events)
	a := asker{client: reader, notes: t.ErrOut}
	if !c.wait {
		return errors.Join(t.deleteAll(ctx, cluster, a, events), missing)
	}
	if err := t.deleteAndWait(ctx, cluster, a, events, c.timeout); err != nil {
		return err
	}
	return missing
}

// warnOfMaintenances says which of the events are not somebody's own, but of maintenances.
func (t *tool) warnOfMaintenances(events []*lifecyclev1alpha1.LifecycleEvent) {
	for _, event := range events {
		if names := maintenanceNames([]*lifecyclev1alpha1.LifecycleEvent{event}, event.Spec.BindingNode); len(names) > 0 {
			fmt.Fprintf(t.ErrOut, "Warning: node %s is out for NodeMaintenance %s, for which it has failed then; 'kubectl slipway maintenance retry' tries it again.\n",
				event.Spec.BindingNode, strings.Join(names, ", "))
		}
	}
}

// sayIdle says which of the nodes have nothing to cancel. That there is no such node is an
// error, as far as Nodes may be read.
func (t *tool) sayIdle(ctx context.Context, reader client.Reader, nodes []string, events []*lifecyclev1alpha1.LifecycleEvent) error {
	var missing []error
	for _, node := range nodes {
		if slices.ContainsFunc(events, func(e *lifecyclev1alpha1.LifecycleEvent) bool { return e.Spec.BindingNode == node }) {
			continue
		}
		if apierrors.IsNotFound(reader.Get(ctx, client.ObjectKey{Name: node}, &corev1.Node{})) {
			missing = append(missing, noSuchNode(node))
			continue
		}
		fmt.Fprintf(t.Out, "node/%s has nothing to cancel\n", node)
	}
	return errors.Join(missing...)
}

// goingOn are the events of the nodes that have not ended.
func goingOn(ctx context.Context, reader client.Reader, nodes []string, name string) ([]*lifecyclev1alpha1.LifecycleEvent, error) {
	var all lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &all); err != nil {
		return nil, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	var events []*lifecyclev1alpha1.LifecycleEvent
	for i := range all.Items {
		event := &all.Items[i]
		if slices.Contains(nodes, event.Spec.BindingNode) && !event.Status.ClaimStatus.Terminal() && (name == "" || name == event.Name) {
			events = append(events, event)
		}
	}
	return events, nil
}

func (t *tool) deleteAll(ctx context.Context, c cluster, a asker, events []*lifecyclev1alpha1.LifecycleEvent) error {
	for _, event := range events {
		if err := a.withdraw(ctx, event); err != nil {
			return err
		}
		t.say(fmt.Sprintf("%s is being canceled\n", named(c.resourceName(event.Name), event)))
	}
	return nil
}

// deleteAndWait deletes the events and says how they have ended.
func (t *tool) deleteAndWait(ctx context.Context, c cluster, a asker, events []*lifecyclev1alpha1.LifecycleEvent, timeout time.Duration) error {
	if timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, timeout, errTimeout)
		defer stop()
	}
	var followed []progress.Asked
	for _, event := range events {
		followed = append(followed, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name, Expected: true})
	}
	f := follow.New(c.watched(), follow.Nothing{}, t.clock, followed...)
	told, err := f.Follow(ctx, func(ctx context.Context) error {
		for _, event := range events {
			f.Expect(event)
			if err := a.withdraw(ctx, event); err != nil {
				return err
			}
		}
		return nil
	})
	if errors.Is(context.Cause(ctx), errTimeout) && err != nil {
		for _, entry := range told.Still(t.clock.Now()) {
			fmt.Fprintln(t.ErrOut, entry.Line())
		}
		return exit{Blocked, errors.New("the time to wait is over; the events are being deleted, and go when their agents have ended them")}
	}
	if err != nil {
		return err
	}
	for _, s := range told.All() {
		t.say(canceledText(s, t.nodeOf(ctx, a.client, s.Node())))
	}
	return nil
}

// named is a name of an event with who asked for it, for a sentence to go on.
func named(name string, event *lifecyclev1alpha1.LifecycleEvent) string {
	if from := origin(event); from != "" {
		return name + from + ","
	}
	return name
}

// nodeOf is a Node, or nil if it cannot be read.
func (t *tool) nodeOf(ctx context.Context, reader client.Reader, name string) *corev1.Node {
	var node corev1.Node
	if reader.Get(ctx, client.ObjectKey{Name: name}, &node) != nil {
		return nil
	}
	return &node
}

// canceledText says how an event has ended that was to be canceled, and how its node is.
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
		return text + "; the node takes pods\n"
	default:
		return text + fmt.Sprintf("; the node is still cordoned, 'kubectl slipway status %s' says for whom\n", s.Node())
	}
}
