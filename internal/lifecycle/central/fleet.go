// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/lifecycle/dispatch"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

// Name is the name of the controller's Lease, of its service account, and of the controller as
// a claimer. All leaders have the same name.
const Name = "slipway-controller"

// Fleet claims and drives the events of central drivers, with an agent for each node that has
// events, from its first event to its last.
type Fleet struct {
	Options
	drivers *plugins.Registry
	waker   loop.Waker
	marker  *Marker // wakes when the drivers change

	mu     sync.Mutex
	agents map[string]*agent.Agent
}

// NewFleet returns a Fleet. Third-party drivers register in that directory, if there is one.
func NewFleet(options Options, registrationDir string) *Fleet {
	f := &Fleet{Options: options, agents: map[string]*agent.Agent{}}
	var dirs []string
	if registrationDir != "" {
		dirs = append(dirs, registrationDir)
	}
	f.drivers = plugins.New(dirs, f.driversChanged)
	f.marker = &Marker{Options: options, drivers: f.drivers}
	return f
}

// Drivers returns the drivers that all nodes share. Its Run finds them.
func (f *Fleet) Drivers() *plugins.Registry { return f.drivers }

// Marker returns the marker of transitions whose driver is registered with the fleet.
func (f *Fleet) Marker() *Marker { return f.marker }

// Sources wake the agent of a node by its events and its Node, and all by transitions.
func (f *Fleet) Sources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(loop.BindingNode)),
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{},
			loop.NodesOf(func(context.Context, *lifecyclev1alpha1.LifecycleTransition) []string { return f.nodes() })),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(nodeToDrive(from))),
		f.waker.Source(),
	}
}

// nodeToDrive names the Node, if it has events, or shows the drain of a deleted event.
func nodeToDrive(cached client.Reader) func(context.Context, *corev1.Node) []string {
	return func(ctx context.Context, n *corev1.Node) []string {
		if transition.DrainShown(n) {
			return []string{n.Name}
		}
		return loop.WithEvents(ctx, cached, n.Name)
	}
}

// Reconcile performs a pass of the node's agent. The queue never gives one node to two
// workers at a time, as an agent requires.
func (f *Fleet) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	hasEvents, err := loop.HasEvents(ctx, f.Cached, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	a := f.of(node)
	if a == nil && !hasEvents {
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
	if !hasEvents && err == nil && result.IsZero() {
		f.drop(node) // it has ended the work for deleted events
	}
	return result, err
}

// drainIsLeft returns whether a node without events still shows a drain.
func (f *Fleet) drainIsLeft(ctx context.Context, name string) (bool, error) {
	var node corev1.Node
	if err := f.Cached.Get(ctx, client.ObjectKey{Name: name}, &node); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return transition.DrainShown(&node), nil
}

// begin creates the agent of a node.
func (f *Fleet) begin(ctx context.Context, node string) (*agent.Agent, error) {
	writer := f.Writer(node)
	homeSince, err := writer.RememberHome(ctx, f.Home.Group())
	if err != nil && !apierrors.IsNotFound(err) { // a Node that does not exist has no record
		return nil, err
	}
	wake := func() { f.waker.Wake(node) }
	a := agent.New(agent.Config{
		NodeName:         node,
		Claimer:          lifecyclev1alpha1.Claimer{Kind: lifecyclev1alpha1.Controller, Identity: Name},
		FinishedEventTTL: f.FinishedEventTTL,
		HomeSince:        homeSince, Since: f.Clock.Now(), Clock: f.Clock,
		Cached:  f.readers(f.Cached, f.Cached),
		Live:    f.readers(f.Live, loop.TransitionsOf(f.Live, "")),
		Central: f.ofAgent,
		Wake:    wake, Drivers: f.drivers, Calls: dispatch.New(node, f.drivers, f.Clock, f.Observer.Calls(), wake),
		Recorder: f.Recorder, Node: writer, Observer: f.Observer.Node(node),
	})
	f.mu.Lock()
	defer f.mu.Unlock()
	f.agents[node] = a
	return a, nil
}

func (f *Fleet) readers(r, transitions client.Reader) agent.Readers {
	return agent.Readers{Events: r, Nodes: r, Transitions: []client.Reader{transitions}, Transition: f.Live}
}

func (f *Fleet) of(node string) *agent.Agent {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.agents[node]
}

func (f *Fleet) drop(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.agents, node)
}

// nodes returns the nodes that have an agent.
func (f *Fleet) nodes() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.agents))
}

// driversChanged wakes the marker and all agents.
func (f *Fleet) driversChanged() {
	f.marker.wake()
	for _, node := range f.nodes() {
		f.waker.Wake(node)
	}
}

// Wait waits for the calls to drivers, which end with the manager.
func (f *Fleet) Wait() {
	for _, node := range f.nodes() {
		f.of(node).Calls.Wait()
	}
}
