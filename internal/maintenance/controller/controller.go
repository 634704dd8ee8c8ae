// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// Teller reports what happens to maintenances, to people and to monitoring.
type Teller interface {
	Tell(about *slipwayv1alpha1.NodeMaintenance, warning bool, reason, message string)
	// Stand is called in each pass, with the status of each maintenance by name.
	Stand(statuses map[string]slipwayv1alpha1.NodeMaintenanceStatus, now time.Time)
	Forget(maintenance types.UID)
}

// Options of a [Controller]. All are required, but for Leases.
type Options struct {
	// Self are the credentials, for the watches of pods.
	Self *rest.Config
	// Cache has NodeMaintenances, Nodes, LifecycleEvents, and of Namespace the Jobs of
	// maintenances and the PodTemplates; with Leases, those of nodes. It runs while the
	// Controller does.
	Cache cache.Cache
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
	// Tell reports to people and to monitoring.
	Tell Teller
	// Namespace is Slipway's own.
	Namespace string
	Clock     clock.WithTicker
}

// Controller carries out maintenances. It is run once.
type Controller struct {
	Options
	reader client.Reader // of the cache
	next   func(maintenance.Facts, time.Time) maintenance.Decision
	loop   *loop.Loop[string]
	began  atomic.Pointer[time.Time] // of the last pass
	broken bool                      // the last pass failed, and the loop repeats it

	health   *health
	pending  *pending
	keptAway *keptAway
	budgets  *budgets
	starving *starving
	failed   *failed

	written    written
	statusAt   map[types.UID]time.Time // when the status of a maintenance was written last
	unreadable map[types.UID]string    // Nodes whose records cannot be read, which was logged
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
	c, pods := with(o), clients.CoreV1().Pods(corev1.NamespaceAll)
	c.health, c.keptAway, c.pending = newHealth(pods, c.wake), newKeptAway(pods, c.wake), newPending(pods, c.wake)
	c.budgets, c.starving = newBudgets(clients, c.wake), newStarving(clients, c.wake)
	return c, nil
}

// with returns a Controller that watches no pods.
func with(o Options) *Controller {
	return &Controller{
		Options: o, reader: o.Cache, next: maintenance.Next, failed: newFailed(o.Clock),
		statusAt: map[types.UID]time.Time{}, unreadable: map[types.UID]string{},
	}
}

// Run works until ctx ends. It leaves nothing running.
func (c *Controller) Run(ctx context.Context) (err error) {
	ctx, stop := context.WithCancel(ctx)
	defer c.starving.close()
	defer c.budgets.close()
	defer c.pending.close()
	defer c.keptAway.close()
	defer c.health.close()
	defer stop()
	if c.loop, err = c.newLoop(ctx); err != nil {
		return err
	}
	defer c.loop.Close()
	known, unlisten, err := c.listen(ctx)
	defer unlisten()
	if err != nil {
		return err
	}
	if c.awaitKnown(ctx, known) {
		c.wake()
		return c.loop.Run(ctx)
	}
	return nil
}

// everything is the only key of the loop: a pass looks at the whole cluster.
const everything = "everything"

// apart is how far apart passes are, at least.
const apart = 200 * time.Millisecond

func (c *Controller) newLoop(ctx context.Context) (*loop.Loop[string], error) {
	return loop.New(ctx, "maintenances", "of", 1, c.Clock, reconcile.TypedFunc[string](c.reconcile))
}

// wake asks for a pass.
func (c *Controller) wake() {
	if began := c.began.Load(); began != nil {
		c.loop.AddAt(everything, began.Add(apart))
		return
	}
	c.loop.Add(everything)
}

// reconcile makes a pass, and asks for the next one when it is due. A panic in maintenances must not
// end what else the process does: the loop makes it an error.
func (c *Controller) reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	now := c.Clock.Now()
	if last := c.began.Load(); last != nil && !c.broken && now.Before(last.Add(apart)) {
		c.wake() // something changed at the very moment at which the last pass began
		return reconcile.Result{}, nil
	}
	c.began.Store(&now)
	c.broken = true
	due, err := c.pass(ctx)
	if err != nil {
		return reconcile.Result{}, err
	}
	c.broken = false
	if !due.IsZero() && due.Before(now.Add(apart)) {
		due = now.Add(apart)
	}
	c.loop.AddAt(everything, due)
	return reconcile.Result{}, nil
}

// pass gathers what is known, and does what is next. It returns when the next pass is due, if nothing
// changes before. A step that fails is not an error of the pass.
func (c *Controller) pass(ctx context.Context) (due time.Time, err error) {
	facts, err := c.gather(ctx)
	if err != nil {
		return time.Time{}, err
	}
	now := c.Clock.Now()
	decision := c.next(facts, now)
	c.health.watch(ctx, decision.Check)
	decision.Wake = earliest(decision.Wake, c.keptAway.watch(ctx, decision.WatchKeptAway, now))
	c.starving.watch(ctx, decision.Starving)
	c.Tell.Stand(statusesOf(facts, decision), now)
	until := earliest(c.pending.watch(ctx, decision.CountPending, now), c.budgets.watch(ctx, decision.Budgets, now))
	if !until.IsZero() {
		return until, nil // Next decides again with the pods that are not ready, and with budgets
	}
	changed := c.performAll(ctx, facts, decision.Steps)
	later := c.writeStatuses(ctx, facts, decision.Statuses, changed)
	for _, t := range []time.Time{later, c.failed.due(), c.written.due(now)} {
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
