// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// requester creates events, or finds them.
type requester struct {
	client client.WithWatch
	notes  io.Writer
	// dry changes nothing.
	dry bool
	// maintenances are warnings about maintenances that want the nodes.
	maintenances map[string]string
}

// asked is an event that was created or found.
type asked struct {
	event *lifecyclev1alpha1.LifecycleEvent
	// isNew means that this command has created it.
	isNew bool
	// instead is an event that a dry run has found and that would be replaced.
	instead *lifecyclev1alpha1.LifecycleEvent
}

// done describes the result of a request.
func (a asked) done() string {
	switch {
	case a.instead != nil:
		return "created, after the deletion of " + over(a.instead)
	case !a.isNew:
		return "exists already"
	default:
		return "created"
	}
}

// replacing describes the replacement of an event that has ended.
func replacing(there *lifecyclev1alpha1.LifecycleEvent) string {
	if there.DeletionTimestamp != nil {
		return fmt.Sprintf("Waiting for the deletion of %s.", over(there))
	}
	return fmt.Sprintf("Deleting %s, so that this one takes its place.", over(there))
}

// over names an event that does not conflict, with the reason.
func over(there *lifecyclev1alpha1.LifecycleEvent) string {
	if there.Status.ClaimStatus.Terminal() {
		return fmt.Sprintf("%s, which has ended as %s", whose(there), there.Status.ClaimStatus)
	}
	return whose(there) + ", which is being canceled"
}

// conflicts returns, before anything is created, which of the wanted events cannot be created.
// It warns of nodes that maintenances drain or return, or will drain.
func (a requester) conflicts(ctx context.Context, wanted []*lifecyclev1alpha1.LifecycleEvent) error {
	var all lifecyclev1alpha1.LifecycleEventList
	if err := a.client.List(ctx, &all); err != nil {
		return fmt.Errorf("list LifecycleEvents: %w", err)
	}
	there := cli.Pointers(all.Items)
	for _, event := range wanted {
		if text := cmp.Or(cli.OutFor(event.Spec.BindingNode, there), a.maintenances[event.Spec.BindingNode]); text != "" {
			fmt.Fprintln(a.notes, "Warning: "+text)
		}
	}
	var conflicts []error
	for _, event := range wanted {
		for _, other := range there {
			if err := conflict(other, event); err != nil {
				conflicts = append(conflicts, err)
			}
		}
	}
	return errors.Join(conflicts...)
}

// conflict returns an error if an event cannot be created beside an existing one. An ended or canceled
// event does not conflict.
func conflict(there, wanted *lifecyclev1alpha1.LifecycleEvent) error {
	if !slipwayclient.IsInWork(there) {
		return nil
	}
	node := there.Spec.BindingNode
	if there.Name == wanted.Name {
		differences := slipwayclient.Differences(there, wanted)
		if len(differences) == 0 {
			return nil
		}
		return fmt.Errorf("%s exists with other parameters: %s. 'kubectl slipway status -w %s' follows it, 'kubectl slipway cancel %s' ends it",
			whose(there), ui.Clean(strings.Join(differences, "; ")), node, node)
	}
	if node != wanted.Spec.BindingNode || wanted.Spec.TransitionName != lifecyclev1alpha1.ReturnTransition || there.Spec.TransitionName != lifecyclev1alpha1.DrainTransition {
		return nil
	}
	if names := cli.MaintenanceNames(node, there); len(names) > 0 {
		return fmt.Errorf("NodeMaintenance %s returns node %s at the end of its work; 'kubectl slipway maintenance abort' ends it early",
			strings.Join(names, ", "), node)
	}
	return fmt.Errorf("%s is in progress, and a return would only follow it. 'kubectl slipway cancel %s' ends it and undoes its cordon", whose(there), node)
}

// whose names an event and its origin.
func whose(event *lifecyclev1alpha1.LifecycleEvent) string {
	return "LifecycleEvent " + event.Name + origin(event)
}

// origin is the requester of an event, with time and reason, as far as they are known.
func origin(event *lifecyclev1alpha1.LifecycleEvent) string {
	text := ""
	if event.Spec.RequestedBy != "" {
		text += ", requested by " + ui.Clean(event.Spec.RequestedBy)
	}
	if at := event.CreationTimestamp; !at.IsZero() {
		text += " at " + at.UTC().Format(time.RFC3339)
	}
	if event.Spec.Reason != "" {
		text += fmt.Sprintf(" (%s)", ui.Clean(event.Spec.Reason))
	}
	return text
}

// ask creates an event, or finds the same one.
func (a requester) ask(ctx context.Context, wanted *lifecyclev1alpha1.LifecycleEvent) (asked, error) {
	var instead *lifecyclev1alpha1.LifecycleEvent
	found := func(there *lifecyclev1alpha1.LifecycleEvent) error {
		if err := conflict(there, wanted); err != nil || slipwayclient.IsInWork(there) {
			return err
		}
		if a.dry {
			instead = there
			return errReplaces
		}
		fmt.Fprintln(a.notes, replacing(there))
		return nil
	}
	event, isNew, err := slipwayclient.For(a.client).Request(ctx, wanted, found, a.options()...)
	if errors.Is(err, errReplaces) {
		return asked{event: wanted, isNew: true, instead: instead}, nil
	}
	return asked{event: event, isNew: isNew}, err
}

// errReplaces ends a dry run that would replace an event.
var errReplaces = errors.New("a dry run replaces no event")

func (a requester) options() []client.CreateOption {
	if a.dry {
		return []client.CreateOption{client.DryRunAll}
	}
	return nil
}

// withdraw deletes this very event, which cancels it if it has not ended.
func (a requester) withdraw(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) error {
	return slipwayclient.For(a.client).Withdraw(ctx, event)
}
