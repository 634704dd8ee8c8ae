// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
)

// Events is the [View] of LifecycleEvents and their nodes: a model that a screen shows.
type Events struct {
	*progress.Model
	cluster Cluster
	screen  *Screen
	clock   clock.WithTicker
	// OnRefusal is called for an event that refuses to evict some of the pods, while no pod has
	// left, until it returns true. It may be nil.
	OnRefusal func(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent, pods []lifecyclev1alpha1.Blocker) (done bool)
	// OnDenied is called once for each pod of an event whose eviction or deletion admission denies. It may be nil.
	OnDenied func(node string, b lifecyclev1alpha1.Blocker)
	denied   map[string]bool // by event and pod
	// refused are the events for which OnRefusal has returned true.
	refused map[*progress.Item]bool
}

// New follows events of a cluster on a screen.
func New(cluster Cluster, screen *Screen, clock clock.WithTicker, asked ...progress.Asked) *Events {
	return &Events{Model: progress.New(asked...), cluster: cluster, screen: screen, clock: clock, refused: map[*progress.Item]bool{}, denied: map[string]bool{}}
}

// Follow watches, creates the events by create, and returns when they have ended, or when ctx ends,
// with its error. The model has their outcomes.
func (e *Events) Follow(ctx context.Context, create func(context.Context) error) (*progress.Model, error) {
	err := e.cluster.ToEnd(ctx, e.clock, e.scope(), e, func(ctx context.Context, seen Scope) error {
		if seen.Pods {
			e.WatchPods()
		}
		e.Begin(e.clock.Now())
		return create(ctx)
	})
	if ctx.Err() != nil {
		e.screen.Clear()
	}
	return e.Model, err
}

// scope is one node with its event and pods, or only the events of several nodes: more would be too
// much for a person and for the API server.
func (e *Events) scope() Scope {
	if all := e.All(); len(all) == 1 {
		return Scope{Event: all[0].Name(), Node: all[0].Node(), Nodes: true, Pods: true}
	}
	return Scope{}
}

// Expect names the event that is followed: as it was created, or found.
func (e *Events) Expect(event *lifecyclev1alpha1.LifecycleEvent) {
	e.Model.Expect(event, e.clock.Now())
}

// Show updates the screen. It reports refusals, and reads objects that an interrupted watch has
// missed.
func (e *Events) Show(ctx context.Context, now time.Time) (over bool, err error) {
	e.screen.Show(e.Model, now)
	over = e.Over(now)
	e.reportRefusals(ctx)
	e.reportDenials()
	e.readMissed(ctx)
	return over, nil
}

func (e *Events) reportRefusals(ctx context.Context) {
	for _, one := range e.All() {
		if pods := one.Refused(); e.OnRefusal != nil && !e.refused[one] && len(pods) > 0 {
			e.refused[one] = e.OnRefusal(ctx, one.Event().DeepCopy(), pods)
		}
	}
}

func (e *Events) reportDenials() {
	for _, one := range e.All() {
		for _, b := range one.Denied() {
			if key := one.Name() + " " + b.Object; e.OnDenied != nil && !e.denied[key] {
				e.denied[key] = true
				e.screen.Clear()
				e.OnDenied(one.Node(), b)
			}
		}
	}
}

// readMissed reads Nodes, for the outcome of an event whose end was missed, and events that the
// watch may never show. It repeats failed reads the next time.
func (e *Events) readMissed(ctx context.Context) {
	var reader client.Reader
	for _, one := range e.All() {
		if !one.MissedEnd() && !one.Unseen() {
			continue
		}
		if reader == nil {
			var err error
			if reader, err = e.cluster.reader(); err != nil {
				return // the outcome is reported as unknown
			}
		}
		if one.MissedEnd() {
			e.readNode(ctx, reader, one.Node())
		} else {
			e.readEvent(ctx, reader, one.Event())
		}
	}
}

func (c Cluster) reader() (client.Reader, error) {
	reader, err := client.New(c.Config, client.Options{HTTPClient: c.HTTP, Scheme: c.Home.Scheme(), Mapper: c.Home.Mapper()})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return reader, nil
}

func (e *Events) readNode(ctx context.Context, reader client.Reader, name string) {
	node := &corev1.Node{}
	err := reader.Get(ctx, client.ObjectKey{Name: name}, node)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsNotFound(err):
		node = nil
	case err != nil:
		return
	}
	e.ReadNode(name, node, e.clock.Now())
}

func (e *Events) readEvent(ctx context.Context, reader client.Reader, event *lifecyclev1alpha1.LifecycleEvent) {
	var now lifecyclev1alpha1.LifecycleEvent
	err := reader.Get(ctx, client.ObjectKeyFromObject(event), &now)
	switch {
	case apierrors.IsNotFound(err), err == nil && now.UID != event.UID:
		e.Gone(event, e.clock.Now())
	case err == nil:
		e.Saw(&now, e.clock.Now())
	}
}
