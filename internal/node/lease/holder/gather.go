// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"fmt"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/nodelease"
)

// gather collects the facts of the node.
func (h *Holder) gather(ctx context.Context, from client.Reader, name string) (leases.Facts, error) {
	facts := leases.Facts{NodeName: name, Transitions: map[string]*lifecyclev1alpha1.LifecycleTransition{}}
	var node corev1.Node
	err := from.Get(ctx, client.ObjectKey{Name: name}, &node)
	if apierrors.IsNotFound(err) {
		return facts, nil // its lease goes with it
	}
	if err != nil {
		return facts, fmt.Errorf("read node %s: %w", name, err)
	}
	facts.Node, facts.CordonedFor = &node, cordonedFor(&node)
	var lease coordinationv1.Lease
	if err := from.Get(ctx, client.ObjectKey{Namespace: nodelease.Namespace, Name: name}, &lease); client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read the lease of node %s: %w", name, err)
	} else if err == nil {
		facts.Lease = &lease
	}
	return facts, h.gatherEvents(ctx, from, &facts)
}

func (h *Holder) gatherEvents(ctx context.Context, from client.Reader, facts *leases.Facts) error {
	var events lifecyclev1alpha1.LifecycleEventList
	if err := from.List(ctx, &events, client.MatchingFields{lifecycleevent.BindingNodeField: facts.NodeName}); err != nil {
		return fmt.Errorf("list the events of node %s: %w", facts.NodeName, err)
	}
	if len(events.Items) == 0 {
		return nil
	}
	for i := range events.Items {
		facts.Events = append(facts.Events, &events.Items[i])
	}
	var transitions lifecyclev1alpha1.LifecycleTransitionList
	// They are copied into an event when it is claimed: no need to ask the server.
	if err := h.Cached.List(ctx, &transitions); err != nil {
		return fmt.Errorf("list the transitions: %w", err)
	}
	for i := range transitions.Items {
		facts.Transitions[transitions.Items[i].Name] = &transitions.Items[i]
	}
	return nil
}

// cordonedFor are the names of the events that the Node is cordoned for.
func cordonedFor(node *corev1.Node) []string {
	ours, _ := nodestate.Cordons(node)
	var names []string
	for _, owner := range ours {
		names = append(names, owner.Event)
	}
	return names
}
