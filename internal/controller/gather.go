// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// gather collects the facts of the node from the caches.
func (o *overseer) gather(ctx context.Context, node string) (oversight.Facts, error) {
	facts, err := o.gatherNode(ctx, o.cached, node)
	if err != nil || !slices.ContainsFunc(facts.Events, oversight.Guarded) {
		return facts, err
	}
	var nodes corev1.NodeList
	if err := o.cached.List(ctx, &nodes, client.UnsafeDisableDeepCopy); err != nil {
		return facts, fmt.Errorf("list the nodes: %w", err)
	}
	for i := range nodes.Items {
		if n := &nodes.Items[i]; n.Name != node {
			facts.Peers = append(facts.Peers, peerOf(n))
		}
	}
	facts.PeerEvents, err = o.peerEvents(ctx, o.cached, node, client.UnsafeDisableDeepCopy)
	return facts, err
}

// gatherNode collects what is about the node itself.
func (o *overseer) gatherNode(ctx context.Context, from client.Reader, name string) (oversight.Facts, error) {
	facts := oversight.Facts{
		NodeName: name, Transitions: map[string]*lifecyclev1alpha1.LifecycleTransition{},
		Central: o.options.ClaimMode == ClaimCentrally, NodeLeases: o.options.NodeLeases, Since: o.since, FinishedEventTTL: o.options.FinishedEventTTL,
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := from.List(ctx, &events, client.MatchingFields{lifecycleevent.BindingNodeField: name}); err != nil {
		return facts, fmt.Errorf("list the events of node %s: %w", name, err)
	}
	for i := range events.Items {
		facts.Events = append(facts.Events, &events.Items[i])
	}
	if len(facts.Events) == 0 {
		return facts, nil
	}
	var pods corev1.PodList
	err := from.List(ctx, &pods, client.InNamespace(o.options.Namespace),
		client.MatchingLabels(oversight.AgentLabels()), client.MatchingFields{podNode: name})
	if err != nil {
		return facts, fmt.Errorf("list the agents' pods on node %s: %w", name, err)
	}
	for i := range pods.Items {
		facts.AgentPods = append(facts.AgentPods, &pods.Items[i])
	}
	var node corev1.Node
	if err := from.Get(ctx, client.ObjectKey{Name: name}, &node); client.IgnoreNotFound(err) != nil {
		return facts, fmt.Errorf("read node %s: %w", name, err)
	} else if err == nil {
		facts.Node, facts.CordonedFor = &node, nodestate.Owners(&node)
	}
	var transitions lifecyclev1alpha1.LifecycleTransitionList
	// They are copied into an event when it is claimed: no need to ask the server.
	if err := o.cached.List(ctx, &transitions); err != nil {
		return facts, fmt.Errorf("list the transitions: %w", err)
	}
	for i := range transitions.Items {
		facts.Transitions[transitions.Items[i].Name] = &transitions.Items[i]
	}
	return facts, nil
}

// peerEvents are the events of other nodes.
func (o *overseer) peerEvents(ctx context.Context, from client.Reader, node string, options ...client.ListOption) ([]*lifecyclev1alpha1.LifecycleEvent, error) {
	var all lifecyclev1alpha1.LifecycleEventList
	if err := from.List(ctx, &all, options...); err != nil {
		return nil, fmt.Errorf("list the events: %w", err)
	}
	var events []*lifecyclev1alpha1.LifecycleEvent
	for i := range all.Items {
		if e := &all.Items[i]; e.Spec.BindingNode != node {
			events = append(events, e)
		}
	}
	return events, nil
}

func peerOf(node *corev1.Node) oversight.Peer {
	return oversight.PeerOf(node, len(nodestate.Owners(node)) > 0)
}
