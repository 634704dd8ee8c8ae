// SPDX-License-Identifier: Apache-2.0

package slipwayclient

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	toolswatch "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Outcome is the end of an event. Without a phase, the end is unknown.
type Outcome struct {
	Phase           lifecyclev1alpha1.ClaimStatus
	Reason, Message string
}

// String returns the outcome in one line.
func (o Outcome) String() string {
	text := string(o.Phase)
	if text == "" {
		text = "Unknown"
	}
	if o.Reason != "" && o.Reason != text {
		text += " (" + o.Reason + ")"
	}
	if o.Message != "" {
		text += ": " + o.Message
	}
	return text
}

// Canceled reports whether the event was deleted before its end.
func (o Outcome) Canceled() bool { return o.Reason == lifecyclev1alpha1.ReasonCanceled }

// EndedError means that an event has ended without success.
type EndedError struct {
	// Event in its last state that was seen.
	Event *lifecyclev1alpha1.LifecycleEvent
	Outcome
}

// Error returns the event and its outcome.
func (e *EndedError) Error() string {
	return fmt.Sprintf("LifecycleEvent %s: %s", e.Event.Name, e.Outcome)
}

// Last is the last known state of an event.
type Last struct {
	Event *lifecyclev1alpha1.LifecycleEvent
	// Gone means that the event was deleted.
	Gone bool
	// Missed means that the watch was interrupted, and may not have shown every state.
	Missed bool
	// Node was read after the deletion. Nil: it was not, or could not be read.
	Node *corev1.Node
}

// NeedsNode reports whether only the Node has the outcome: the event was deleted, and its end was not
// seen.
func (l Last) NeedsNode() bool {
	return l.Gone && !l.Event.Status.ClaimStatus.Terminal() && l.Event.Status.Driver != nil
}

// Outcome returns the end of the event, as far as it is known. Slipway deletes events when they end,
// and the Node's condition LifecycleTransition has the outcome of the last one.
func (l Last) Outcome() Outcome {
	status := l.Event.Status
	outcome := Outcome{Phase: status.ClaimStatus}
	if c := apimeta.FindStatusCondition(status.Conditions, lifecyclev1alpha1.ConditionFinished); c != nil {
		outcome.Reason, outcome.Message = c.Reason, strings.TrimSpace(c.Message)
	}
	if !l.Gone || status.ClaimStatus.Terminal() {
		return outcome
	}
	switch c := lastTransition(l.Node); {
	case l.NeedsNode() && c != nil && c.Reason == status.Driver.End:
		return Outcome{Phase: lifecyclev1alpha1.Succeeded}
	case l.NeedsNode() && c != nil && c.Status == corev1.ConditionFalse:
		outcome := Outcome{Phase: lifecyclev1alpha1.Failed, Reason: c.Reason, Message: strings.TrimSpace(c.Message)}
		if c.Reason == lifecyclev1alpha1.ReasonSLAExpired {
			outcome.Phase = lifecyclev1alpha1.SlaExpired
		}
		return outcome
	case status.Driver != nil || l.Missed:
		return Outcome{Message: "the event was deleted, and its outcome is unknown"}
	default:
		return Outcome{
			Phase: lifecyclev1alpha1.Failed, Reason: lifecyclev1alpha1.ReasonCanceled,
			Message: "the event was deleted before it was claimed",
		}
	}
}

func lastTransition(node *corev1.Node) *corev1.NodeCondition {
	if node == nil {
		return nil
	}
	for i := range node.Status.Conditions {
		if c := &node.Status.Conditions[i]; c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition {
			return c
		}
	}
	return nil
}

// Follow waits until an event has ended, and returns its last state. It returns an [EndedError] if
// the event has not succeeded, and the error of ctx if that ends first. An API server that does not
// answer for a while is no error.
func (c *Client) Follow(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) (*lifecyclev1alpha1.LifecycleEvent, error) {
	last, err := c.follow(ctx, event)
	if err != nil {
		return last.Event, fmt.Errorf("follow LifecycleEvent %s: %w", event.Name, err)
	}
	if last.NeedsNode() {
		node := &corev1.Node{}
		err := c.cluster.Get(ctx, client.ObjectKey{Name: event.Spec.BindingNode}, node)
		switch {
		case err == nil:
			last.Node = node
		case !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err):
			return last.Event, fmt.Errorf("read the outcome of LifecycleEvent %s: get Node %s: %w", event.Name, event.Spec.BindingNode, err)
		}
	}
	if outcome := last.Outcome(); outcome.Phase != lifecyclev1alpha1.Succeeded {
		return last.Event, &EndedError{Event: last.Event, Outcome: outcome}
	}
	return last.Event, nil
}

// follow watches the event until it has ended or was deleted. The watch begins at the known state, so
// that it misses nothing, however late it begins.
func (c *Client) follow(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) (Last, error) {
	last := Last{Event: event}
	for {
		over, err := c.watch(ctx, &last)
		if over || !apierrors.IsResourceExpired(err) && !apierrors.IsGone(err) {
			return last, err
		}
		last.Missed = true // the server has forgotten the changes since then
		now := &lifecyclev1alpha1.LifecycleEvent{}
		err = c.cluster.Get(ctx, client.ObjectKeyFromObject(event), now)
		switch {
		case apierrors.IsNotFound(err), err == nil && now.UID != event.UID:
			last.Gone = true
			return last, nil
		case err != nil:
			return last, err
		}
		last.Event = now
	}
}

// watch updates the last state until the event has ended or was deleted.
func (c *Client) watch(ctx context.Context, last *Last) (over bool, err error) {
	if last.Event.Status.ClaimStatus.Terminal() {
		return true, nil
	}
	changes, err := toolswatch.NewRetryWatcherWithContext(ctx, last.Event.ResourceVersion, &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return c.cluster.Watch(ctx, &lifecyclev1alpha1.LifecycleEventList{}, client.MatchingFields{"metadata.name": last.Event.Name}, &client.ListOptions{Raw: &raw})
		},
	})
	if err != nil {
		return false, err
	}
	defer func() { changes.Stop(); <-changes.Done() }()
	for change := range changes.ResultChan() {
		seen, isEvent := change.Object.(*lifecyclev1alpha1.LifecycleEvent)
		if !isEvent {
			return false, apierrors.FromObject(change.Object)
		}
		last.Event, last.Gone = seen, change.Type == watch.Deleted
		if last.Gone || seen.Status.ClaimStatus.Terminal() {
			return true, nil
		}
	}
	return false, context.Cause(ctx)
}
