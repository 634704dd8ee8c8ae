// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
)

// Reporter reports the progress of maintenances in core Events and metrics.
type Reporter interface {
	Tell(about *slipwayv1alpha1.NodeMaintenance, warning bool, reason, message string)
	// Stand is called in each pass, with the status of each maintenance by name.
	Stand(statuses map[string]slipwayv1alpha1.NodeMaintenanceStatus, now time.Time)
	Forget(maintenance types.UID)
}

// Options of a [Controller]. All are required, except Jobs and Leases.
type Options struct {
	// Self are the credentials, for the watches of pods.
	Self *rest.Config
	// Cache has NodeMaintenances, Nodes and LifecycleEvents; with Jobs, the Jobs of maintenances and their
	// PodTemplates; with Leases, the Leases of nodes. It runs while the Controller does.
	Cache cache.Cache
	// Jobs: the process creates Jobs, in [maintenance.JobNamespace].
	Jobs bool
	// Leases: the process takes the leases of the nodes that Slipway works on.
	Leases bool
	// Client writes NodeMaintenances and Jobs.
	Client client.Client
	// Live reads LifecycleEvents and Jobs from the API server.
	Live client.Reader
	// Events writes LifecycleEvents.
	Events *record.Recorder
	// Node returns the writer of a Node.
	Node func(name string) *nodestate.Writer
	// Tell reports the progress of maintenances.
	Tell Reporter
	// Namespace is Slipway's namespace.
	Namespace string
	Clock     clock.WithTicker
}

// Controller carries out maintenances. It runs once.
type Controller struct {
	Options
	reader client.Reader // of the cache
	next   func(maintenance.Facts, time.Time) maintenance.Decision
	loop   *loop.Loop[string]
	began  atomic.Pointer[time.Time] // of the last pass
	broken bool                      // the last pass failed, and the loop repeats it

	watches    *watches
	failed     *failed // steps
	unwritten  *failed // statuses
	written    written
	statusAt   map[types.UID]time.Time // of the last write of the status of a maintenance
	unreadable map[types.UID]string    // the resourceVersions of Nodes for which an unreadable record is in the log
}

// ofMaintenances is the index of the LifecycleEvents that belong to maintenances.
const ofMaintenances = "maintenances"

// New returns a Controller. It sends no request.
func New(ctx context.Context, o Options) (*Controller, error) {
	index := func(o client.Object) []string {
		if maintenance.Labelled(o) {
			return []string{"true"}
		}
		return nil
	}
	if err := o.Cache.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, ofMaintenances, index); err != nil {
		return nil, fmt.Errorf("index the events of maintenances: %w", err)
	}
	clients, err := kubernetes.NewForConfig(o.Self)
	if err != nil {
		return nil, fmt.Errorf("build a client for pods and PodDisruptionBudgets: %w", err)
	}
	return with(o, clients), nil
}

func with(o Options, clients kubernetes.Interface) *Controller {
	c := &Controller{
		Options: o, reader: o.Cache, next: maintenance.Next, failed: newFailed(o.Clock), unwritten: newFailed(o.Clock),
		statusAt: map[types.UID]time.Time{}, unreadable: map[types.UID]string{},
	}
	c.watches = newWatches(clients, c.wake)
	return c
}

// Run works until ctx ends. It leaves no goroutine behind.
func (c *Controller) Run(ctx context.Context) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer c.watches.close()
	defer stop()
	if c.loop, err = c.newLoop(ctx); err != nil {
		return err
	}
	defer c.loop.Close()
	synced, unlisten, err := c.listen(ctx)
	defer unlisten()
	if err != nil || !c.awaitSynced(ctx, synced) {
		return err
	}
	c.wake()
	return c.loop.Run(ctx)
}

// everything is the only key of the loop: a pass covers the whole cluster.
const everything = "everything"

// apart is the minimum time between the starts of two passes.
const apart = 200 * time.Millisecond

func (c *Controller) newLoop(ctx context.Context) (*loop.Loop[string], error) {
	return loop.New(ctx, "maintenances", "of", 1, c.Clock, reconcile.TypedFunc[string](c.reconcile))
}

// wake requests a pass.
func (c *Controller) wake() {
	if began := c.began.Load(); began != nil {
		c.loop.AddAt(everything, began.Add(apart))
		return
	}
	c.loop.Add(everything)
}

// reconcile makes a pass, and requests the next one for its due time. The loop turns a
// panic into an error: it must not end the process, which has other tasks.
func (c *Controller) reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	now := c.Clock.Now()
	if last := c.began.Load(); last != nil && !c.broken && now.Before(last.Add(apart)) {
		c.wake() // a change came with the start of the last pass, or too early
		return reconcile.Result{}, nil
	}
	c.began.Store(&now)
	c.broken = true
	due, err := c.pass(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.broken = false
	c.loop.AddAt(everything, due)
	return reconcile.Result{}, nil
}

// pass gathers the facts, decides, and performs the steps. It returns the time at which the next pass is
// due if no object changes before. The pass does not fail with a step.
func (c *Controller) pass(ctx context.Context) (due time.Time, err error) {
	facts, err := c.gather(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := c.Clock.Now()
	decision := c.next(facts, now)
	wait, again := c.watches.follow(ctx, decision, now)
	c.Tell.Stand(statusesOf(facts, decision), now)
	if !wait.IsZero() {
		return wait, nil // Next decides again with the facts that are missing
	}
	changed := c.performAll(ctx, facts, decision.Steps)
	later := c.writeStatuses(ctx, facts, decision.Statuses, changed)
	for _, t := range []time.Time{again, later, c.failed.due(), c.unwritten.due(), c.written.due(now)} {
		decision.Wake = earliest(decision.Wake, t)
	}
	return decision.Wake, nil
}

// earliest returns the earlier of two times; zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
