// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// afterStep is when a pass comes that nothing has asked for: the watches show what a step has
// written, and wake, but they may be late.
const afterStep = time.Second

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
		return reconcile.Result{RequeueAfter: afterStep}, nil
	}
	err = s.perform(ctx, facts, step)
	if errors.Is(err, record.ErrStale) || errors.Is(err, nodestate.ErrStale) {
		log.FromContext(ctx).V(2).Info("Looking again", "reason", err.Error())
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("node %s: %w", node, err)
	}
	return reconcile.Result{RequeueAfter: afterStep}, nil
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
	var events lifecyclev1alpha1.LifecycleEventList
	if err := from.List(ctx, &events, client.MatchingFields{lifecycleevent.BindingNodeField: name}); err != nil {
		return facts, fmt.Errorf("list the events of node %s: %w", name, err)
	}
	for i := range events.Items {
		facts.Events = append(facts.Events, &events.Items[i])
	}
	return facts, nil
}
