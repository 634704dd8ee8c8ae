// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/lifecycle/dispatch"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
)

// fleet is the loops of all nodes that have events: the same that an agent runs on its
// node, one for each, made with the first event and dropped with the last.
type fleet struct {
	*process
	cached, live client.Reader
	recorder     *record.Recorder
	dir          string // of the sockets
	drivers      *plugins.Registry
	bells        bells

	mu     sync.Mutex
	agents map[string]*agent.Agent
}

// Reconcile is a pass of the node's loop. The queue never gives one node to two workers
// at a time, as an agent wants it.
func (f *fleet) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	empty, err := f.isEmpty(ctx, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	a := f.of(node)
	if a == nil && empty {
		if left, err := f.drainIsLeft(ctx, node); !left {
			return reconcile.Result{}, err
		}
	}
	if a == nil {
		if a, err = f.begin(ctx, node); err != nil {
			return reconcile.Result{}, err
		}
	}
	result, err := a.Reconcile(ctx, node)
	if empty && err == nil && result.IsZero() {
		f.drop(node) // it has told the driver of what has vanished
	}
	return result, err
}

func (f *fleet) isEmpty(ctx context.Context, node string) (bool, error) {
	var events lifecyclev1alpha1.LifecycleEventList
	err := f.cached.List(ctx, &events, client.MatchingFields{lifecycleevent.BindingNodeField: node}, client.UnsafeDisableDeepCopy)
	if err != nil {
		return false, fmt.Errorf("list the events of node %s: %w", node, err)
	}
	return len(events.Items) == 0, nil
}

// drainIsLeft says whether a node without events says that it is being drained for one.
func (f *fleet) drainIsLeft(ctx context.Context, name string) (bool, error) {
	var node corev1.Node
	if err := f.cached.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return transition.DrainShown(&node), nil
}

// begin makes the loop of a node.
func (f *fleet) begin(ctx context.Context, node string) (*agent.Agent, error) {
	writer := f.writer(node)
	homeSince, err := writer.RememberHome(ctx, f.home.Group())
	if err != nil && !apierrors.IsNotFound(err) { // of a Node that does not exist, nothing is to be remembered
		return nil, err
	}
	drivers := &sharedDrivers{registry: f.drivers, asked: map[string]string{}}
	wake := func() { f.bells.ring(node) }
	a := agent.New(agent.Config{
		NodeName:         node,
		Claimer:          lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: Name},
		FinishedEventTTL: f.options.FinishedEventTTL,
		HomeSince:        homeSince, Since: f.clock.Now(), Clock: f.clock,
		Cached:  readers(f.cached),
		Live:    readers(f.live),
		Drivers: drivers, Calls: dispatch.New(node, f.drivers, f.clock, f.observer.Calls(), wake),
		Recorder: f.recorder, Node: writer, Observer: f.observer.Node(node),
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.agents[node] = a
	return a, nil
}

func readers(r client.Reader) agent.Readers {
	return agent.Readers{Events: r, Transitions: r, Nodes: r}
}

func (f *fleet) of(node string) *agent.Agent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.agents[node]
}

func (f *fleet) drop(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.agents, node)
}

// nodes are those that have a loop.
func (f *fleet) nodes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.agents))
}

// driversChanged wakes all loops.
func (f *fleet) driversChanged() {
	for _, node := range f.nodes() {
		f.bells.ring(node)
	}
}

// close waits for the calls to drivers, which end with the manager, and removes the
// sockets' directory.
func (f *fleet) close() error {
	for _, node := range f.nodes() {
		f.of(node).Calls.Wait()
	}
	if err := os.RemoveAll(f.dir); err != nil {
		return fmt.Errorf("remove the sockets: %w", err)
	}
	return nil
}
