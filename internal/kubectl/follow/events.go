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
	// OnRefusal is called for an event that was asked not to evict some of the pods, while
	// nothing has left, and again until it says that it is done. May be nil.
	OnRefusal func(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent, pods []lifecyclev1alpha1.Blocker) (done bool)
	// refused are those whose refusal is done.
	refused map[*progress.Item]bool
}

// New follows events of a cluster on a screen.
func New(cluster Cluster, screen *Screen, clock clock.WithTicker, asked ...progress.Asked) *Events {
	return &Events{Model: progress.New(asked...), cluster: cluster, screen: screen, clock: clock, refused: map[*progress.Item]bool{}}
}

// Follow watches, has the events created, and returns when they have ended, or with the
// error of ctx when that ends. The model says how they ended.
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

// scope is one node with all that happens there. Of several nodes it is only their events:
// a person cannot follow more, and a cluster should not be asked for more.
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

// Show brings the screen up to date. It reports refusals, and reads what a watch that was
// interrupted has missed.
func (e *Events) Show(ctx context.Context, now time.Time) (over bool, err error) {
	e.screen.Show(e.Model, now)
	over = e.Over(now)
	e.reportRefusals(ctx)
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

// readMissed reads the Nodes that know how an event ended whose end was missed, and the
// events that the watch may never show. What cannot be read is read again the next time.
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
