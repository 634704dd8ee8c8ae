// SPDX-License-Identifier: Apache-2.0

package slipwayclient

import (
	"context"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Drain returns the event that drains a node. The caller may set spec.sla, and spec.parameters to
// DrainParameters. A node has at most one such event.
func Drain(node, reason string) *lifecyclev1alpha1.LifecycleEvent {
	return newEvent("drain-"+node, lifecyclev1alpha1.DrainTransition, node, reason)
}

// Return returns the event that returns a node to service.
func Return(node, reason string) *lifecyclev1alpha1.LifecycleEvent {
	return newEvent("uncordon-"+node, lifecyclev1alpha1.ReturnTransition, node, reason)
}

func newEvent(name, transition, node, reason string) *lifecyclev1alpha1.LifecycleEvent {
	return &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: node, Reason: reason},
	}
}

// Run creates an event by [Client.Request], and follows it to its end by [Client.Follow].
func (c *Client) Run(ctx context.Context, wanted *lifecyclev1alpha1.LifecycleEvent) (*lifecyclev1alpha1.LifecycleEvent, error) {
	event, _, err := c.Request(ctx, wanted, differs(wanted))
	if err != nil {
		return nil, err
	}
	return c.Follow(ctx, event)
}

// differs returns an error for an event in work that is another one than the wanted one.
func differs(wanted *lifecyclev1alpha1.LifecycleEvent) func(*lifecyclev1alpha1.LifecycleEvent) error {
	return func(there *lifecyclev1alpha1.LifecycleEvent) error {
		if differences := Differences(there, wanted); IsInWork(there) && len(differences) > 0 {
			return fmt.Errorf("LifecycleEvent %s exists with other parameters: %s", there.Name, strings.Join(differences, "; "))
		}
		return nil
	}
}

// IsInWork reports whether an event has neither ended nor is being canceled.
func IsInWork(event *lifecyclev1alpha1.LifecycleEvent) bool {
	return event.DeletionTimestamp == nil && !event.Status.ClaimStatus.Terminal()
}

// Request creates an event, or returns the event in work that has its name. It replaces one that has ended
// or is being canceled. Before it returns or replaces an existing event it calls found, whose error
// ends it.
func (c *Client) Request(
	ctx context.Context, wanted *lifecyclev1alpha1.LifecycleEvent, found func(there *lifecyclev1alpha1.LifecycleEvent) error, options ...client.CreateOption,
) (event *lifecyclev1alpha1.LifecycleEvent, isNew bool, err error) {
	for {
		event := wanted.DeepCopy()
		err := c.cluster.Create(ctx, event, options...)
		if err == nil {
			return event, true, nil
		}
		if !apierrors.IsAlreadyExists(err) {
			return nil, false, fmt.Errorf("create LifecycleEvent %s: %w", wanted.Name, err)
		}
		there := &lifecyclev1alpha1.LifecycleEvent{}
		err = c.cluster.Get(ctx, client.ObjectKeyFromObject(wanted), there)
		if apierrors.IsNotFound(err) {
			continue // the API server has just deleted it
		}
		if err != nil {
			return nil, false, fmt.Errorf("get LifecycleEvent %s: %w", wanted.Name, err)
		}
		if err := found(there); err != nil {
			return nil, false, err
		}
		if IsInWork(there) {
			return there, false, nil
		}
		if err := c.remove(ctx, there); err != nil {
			return nil, false, err
		}
	}
}

// Withdraw deletes this very event, which cancels it if it has not ended.
func (c *Client) Withdraw(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) error {
	err := c.cluster.Delete(ctx, event, client.Preconditions{UID: &event.UID})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return fmt.Errorf("delete LifecycleEvent %s: %w", event.Name, err)
	}
	return nil
}

// remove withdraws an event, and waits until the API server has deleted it.
func (c *Client) remove(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) error {
	watcher, err := c.cluster.Watch(ctx, &lifecyclev1alpha1.LifecycleEventList{}, client.MatchingFields{"metadata.name": event.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: event.ResourceVersion}})
	if err != nil {
		return fmt.Errorf("watch LifecycleEvent %s: %w", event.Name, err)
	}
	defer watcher.Stop()
	if err := c.Withdraw(ctx, event); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case seen, open := <-watcher.ResultChan():
			if !open || seen.Type == watch.Deleted || seen.Type == watch.Error {
				return nil // the next request to create it fails if it still exists
			}
		}
	}
}
