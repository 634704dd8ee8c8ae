// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
	"github.com/slipway-k8s/slipway/nodelease"
)

// Options are what a Holder works with.
type Options struct {
	// Cached reads what the process watches; Live asks the API server.
	Cached, Live client.Reader
	// Leases are those of nodelease.Namespace.
	Leases coordinationclient.LeaseInterface
	// Recorder writes events, and Writer the Node of that name.
	Recorder *record.Recorder
	Writer   func(node string) *nodestate.Writer
	Observer *telemetry.Source
	Clock    clock.PassiveClock
}

// Holder keeps the leases of nodes. It remembers nothing: who begins to lead goes on.
type Holder struct{ Options }

// New returns a Holder, which does something when it is asked to look at a node.
func New(options Options) *Holder { return &Holder{options} }

// Reconcile does one step for a node, if there is one. What it writes wakes it again.
func (h *Holder) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	now := h.Clock.Now()
	facts, err := h.gather(ctx, h.Cached, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := leases.Next(facts, now)
	if decision.Step == nil {
		return loop.Wait(decision.Wake, now), nil
	}
	return loop.AfterStep(ctx, node, h.perform(ctx, facts, decision.Step))
}

// gather collects the facts of the node.
func (h *Holder) gather(ctx context.Context, from client.Reader, name string) (leases.Facts, error) {
	facts := leases.Facts{NodeName: name}
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
	if facts.Events, err = loop.Events(ctx, from, name); err != nil || len(facts.Events) == 0 {
		return facts, err
	}
	// An event copies its transition when it is claimed: the cache is enough.
	facts.Transitions, err = loop.Transitions(ctx, h.Cached)
	return facts, err
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
