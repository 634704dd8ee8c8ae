// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// Options are what a Shepherd works with.
type Options struct {
	// Cached reads what the process watches; Live asks the API server.
	Cached, Live client.Reader
	// Recorder writes events, and Writer the Node of that name.
	Recorder *record.Recorder
	Writer   func(node string) *nodestate.Writer
	// Ended is told of each shutdown whose machine has booted since: shutdown.ReasonFinished or
	// shutdown.ReasonUnfinished.
	Ended func(reason string)
	Clock clock.PassiveClock
}

// Shepherd takes nodes through the shutdowns of their machines. It remembers nothing: who
// begins to lead goes on.
type Shepherd struct{ Options }

// New returns a Shepherd, which does something when it is asked to look at a node.
func New(options Options) *Shepherd { return &Shepherd{options} }

// Reconcile does one step for a node, if there is one. What it writes wakes it again.
func (s *Shepherd) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	facts, err := s.gather(ctx, s.Cached, node)
	if err != nil || shutdown.Next(facts, s.Clock.Now()) == nil {
		return reconcile.Result{}, err
	}
	// Nothing is done on what a cache shows.
	if facts, err = s.gather(ctx, s.Live, node); err != nil {
		return reconcile.Result{}, err
	}
	step := shutdown.Next(facts, s.Clock.Now())
	if step == nil {
		return loop.AfterStep(ctx, node, nil)
	}
	return loop.AfterStep(ctx, node, s.perform(ctx, facts, step))
}

// gather collects the facts of the node.
func (s *Shepherd) gather(ctx context.Context, from client.Reader, name string) (shutdown.Facts, error) {
	facts := shutdown.Facts{NodeName: name}
	var node corev1.Node
	switch err := from.Get(ctx, client.ObjectKey{Name: name}, &node); {
	case err == nil:
		facts.Node = &node
	case !apierrors.IsNotFound(err):
		return facts, fmt.Errorf("read node %s: %w", name, err)
	}
	var err error
	facts.Events, err = loop.Events(ctx, from, name)
	return facts, err
}

// Sources wake a Shepherd: by the events of shutdowns, by the Nodes that say something of one,
// and by events that hold a node empty, which that of a shutdown may wait behind. What has none
// of these, it never looks at.
func Sources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(eventChanged)),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(nodeChanged)),
	}
}

func eventChanged(_ context.Context, e *lifecyclev1alpha1.LifecycleEvent) []string {
	if !slices.Contains(e.Finalizers, shutdown.Finalizer) && e.Annotations[shutdown.Annotation] == "" && !shutdown.HoldsEmpty(e) {
		return nil
	}
	return []string{e.Spec.BindingNode}
}

func nodeChanged(_ context.Context, n *corev1.Node) []string {
	if n.Annotations[shutdown.Annotation] == "" && n.Annotations[shutdown.DrainAnnotation] == "" {
		return nil
	}
	return []string{n.Name}
}
