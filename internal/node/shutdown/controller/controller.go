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
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// Options of a [Shepherd]. All are required.
type Options struct {
	// Cached reads the process's watches; Live reads from the API server.
	Cached, Live client.Reader
	// Recorder writes events, and Writer the Node of that name.
	Recorder *record.Recorder
	Writer   func(node string) *nodestate.Writer
	// Ended is called for each shutdown whose machine has booted since, with shutdown.ReasonFinished or
	// shutdown.ReasonUnfinished.
	Ended func(reason string)
	Clock clock.PassiveClock
}

// Shepherd guides nodes through the shutdowns of their machines. It has no memory: a new leader continues.
type Shepherd struct{ Options }

// New returns a Shepherd.
func New(options Options) *Shepherd { return &Shepherd{options} }

// Reconcile performs at most one step for a node. Its write wakes the node again.
func (s *Shepherd) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	facts, err := s.gather(ctx, s.Cached, node)
	if err != nil || shutdown.Next(facts, s.Clock.Now()) == nil {
		return reconcile.Result{}, err
	}
	// Each step needs current facts.
	if facts, err = s.gather(ctx, s.Live, node); err != nil {
		return reconcile.Result{}, err
	}
	step := shutdown.Next(facts, s.Clock.Now())
	if step == nil {
		return loop.AfterStep(ctx, node, nil)
	}
	return loop.AfterStep(ctx, node, s.perform(ctx, facts, step))
}

// gather collects the facts about the node.
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

// perform performs one step.
func (s *Shepherd) perform(ctx context.Context, facts shutdown.Facts, step shutdown.Step) error {
	logger := log.FromContext(ctx)
	switch step := step.(type) {
	case shutdown.Create:
		_, err := s.Recorder.Create(ctx, step.Event)
		if apierrors.IsAlreadyExists(err) { // without Slipway's finalizer: a third party has removed that, or created the event
			return fmt.Errorf("LifecycleEvent %s blocks the drain before a shutdown: delete it", step.Event.Name)
		}
		if err != nil {
			return err
		}
		logger.Info("The machine is being shut down: requested its drain", "event", step.Event.Name, "sla", step.Event.Spec.SLA.Duration)
		faultpoint.Reach(faultpoint.ShutdownEventCreated)
		return nil
	case shutdown.Cancel:
		logger.Info("Canceling an unnecessary drain", "event", step.Event.Name)
		return s.Recorder.Delete(ctx, step.Event)
	case shutdown.Note:
		text, err := step.Drain.Text()
		if err != nil {
			return err
		}
		if err := s.Writer(facts.NodeName).RecordShutdownDrain(ctx, facts.Node, text); err != nil {
			return err
		}
		logger.Info("The drain for a shutdown has ended", "event", step.Drain.Event, "outcome", step.Drain.Outcome)
		faultpoint.Reach(faultpoint.ShutdownDrainNoted)
		return nil
	case shutdown.LetGo:
		changed := step.Event.DeepCopy()
		changed.Finalizers = slices.DeleteFunc(changed.Finalizers, func(f string) bool { return f == shutdown.Finalizer })
		_, err := s.Recorder.Change(ctx, step.Event, changed)
		return err
	case shutdown.Return:
		return s.giveBack(ctx, facts, step)
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

// giveBack undoes the changes of a shutdown. It removes the Node's annotations last: until then, a new process repeats
// the step.
func (s *Shepherd) giveBack(ctx context.Context, facts shutdown.Facts, step shutdown.Return) error {
	writer := s.Writer(facts.NodeName)
	if step.UID != "" {
		if err := writer.Release(ctx, step.UID); err != nil {
			return err
		}
	}
	faultpoint.Reach(faultpoint.ShutdownReleased)
	if len(step.Conditions) > 0 {
		if _, err := writer.Mark(ctx, step.Conditions); err != nil {
			return err
		}
	}
	if err := writer.ForgetShutdown(ctx, facts.Node, step.Forget); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Returned the node after a shutdown", "ended", step.Ended)
	if step.Ended != "" {
		s.Ended(step.Ended)
	}
	return nil
}

// Sources wake a Shepherd: the events of shutdowns, the Nodes with annotations about one, and events that keep a node
// empty, because the event of a shutdown may wait for them. It never processes other nodes.
func Sources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleEvent{}, loop.NodesOf(func(_ context.Context, e *lifecyclev1alpha1.LifecycleEvent) []string {
			if !slices.Contains(e.Finalizers, shutdown.Finalizer) && e.Annotations[shutdown.Annotation] == "" && !shutdown.HoldsEmpty(e) {
				return nil
			}
			return []string{e.Spec.BindingNode}
		})),
		source.TypedKind(from, &corev1.Node{}, loop.NodesOf(func(_ context.Context, n *corev1.Node) []string {
			if n.Annotations[shutdown.Annotation] == "" && n.Annotations[shutdown.DrainAnnotation] == "" {
				return nil
			}
			return []string{n.Name}
		})),
	}
}
