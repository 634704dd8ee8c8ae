// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

// Marker marks the transitions whose driver is registered with the controller: agents leave their events to it.
type Marker struct {
	Options
	drivers *plugins.Registry // nil: the controller has no drivers, and removes the marks of an earlier one
	waker   loop.Waker
}

// NewMarker returns a Marker for a controller without drivers.
func NewMarker(options Options) *Marker { return &Marker{Options: options} }

// all is the one key of a Marker.
const all = "transitions"

// Sources wake a Marker.
func (m *Marker) Sources(from cache.Cache) []source.TypedSource[string] {
	return []source.TypedSource[string]{
		source.TypedKind(from, &lifecyclev1alpha1.LifecycleTransition{},
			loop.NodesOf(func(context.Context, *lifecyclev1alpha1.LifecycleTransition) []string { return []string{all} })),
		m.waker.Source(all),
	}
}

func (m *Marker) wake() { m.waker.Wake(all) }

// Reconcile performs one step, if there is one. Its write starts the next pass.
func (m *Marker) Reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	transitions, err := loop.Transitions(ctx, m.Cached)
	if err != nil {
		return reconcile.Result{}, err
	}
	now, decision := m.Clock.Now(), oversight.Decision{}
	for _, name := range slices.Sorted(maps.Keys(transitions)) {
		decision = decision.Or(oversight.Mark(transitions[name], m.registered(transitions[name].Spec.Driver), now))
	}
	step, ok := decision.Step.(oversight.MarkTransition)
	if !ok {
		return loop.Wait(decision.Wake, now), nil
	}
	return loop.AfterStep(ctx, all, m.Recorder.Annotate(ctx, step.Transition, lifecyclev1alpha1.RegisteredCentrallyAnnotation, step.Driver))
}

func (m *Marker) registered(driver string) oversight.Registration {
	if m.drivers == nil {
		return oversight.Registration{}
	}
	state := m.drivers.Driver(driver)
	return oversight.Registration{Possible: true, Registered: state.Registered, MissingSince: state.MissingSince}
}
