// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/lifecycle/agent"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	"github.com/slipway-k8s/slipway/internal/platform/health"
)

// workers is how many nodes' loops have a pass at a time. A pass is some requests; what
// takes long goes on in the driver.
const workers = 8

// addFleet makes the manager run the loops of all nodes, and the drain driver for them.
// All of that is the leader's.
func (p *process) addFleet(self *rest.Config) error {
	dir, err := os.MkdirTemp(p.options.SocketDir, "slipway-")
	if err != nil {
		return fmt.Errorf("make a directory for sockets (--socket-dir): %w", err)
	}
	f := &fleet{
		process: p, cached: p.manager.GetCache(), live: p.manager.GetAPIReader(), recorder: record.New(p.manager.GetClient()),
		dir: dir, agents: map[string]*agent.Agent{},
	}
	p.fleet = f
	f.drivers = plugins.New(plugins.Options{Dir: f.registrationDir(), OnChange: f.driversChanged})
	p.health.Check(health.Readiness, "drivers", f.drivesIfItLeads)
	c, err := controller.NewTyped("agents", p.manager, controller.TypedOptions[string]{
		Reconciler:              p.health.Loop(f),
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[string](errorBackoffBase, errorBackoffCap),
	})
	if err != nil {
		return fmt.Errorf("build the loops of nodes: %w", err)
	}
	return errors.Join(
		f.watch(c),
		p.manager.Add(manager.RunnableFunc(f.drivers.Run)),
		p.manager.Add(manager.RunnableFunc(func(ctx context.Context) error { return f.serveDrain(ctx, self) })),
	)
}

// watch wakes the loop of a node by its events and its Node, and all by transitions.
func (f *fleet) watch(c controller.TypedController[string]) error {
	b, cache := bell{f.manager.GetCache()}, f.manager.GetCache()
	for _, s := range []source.TypedSource[string]{
		source.TypedKind(cache, &lifecyclev1alpha1.LifecycleEvent{}, nodesOf(b.eventChanged)),
		source.TypedKind(cache, &lifecyclev1alpha1.LifecycleTransition{}, wakeAll[*lifecyclev1alpha1.LifecycleTransition](f)),
		source.TypedKind(cache, &corev1.Node{}, nodesOf(b.drainChanged)),
		source.TypedFunc[string](f.bells.start),
	} {
		if err := c.Watch(s); err != nil {
			return fmt.Errorf("build the loops of nodes: %w", err)
		}
	}
	return nil
}

func wakeAll[T client.Object](f *fleet) handler.TypedEventHandler[T, string] {
	return nodesOf(func(context.Context, T) []string { return f.nodes() })
}

// serveDrain runs the drain driver for all nodes, as the process itself.
func (f *fleet) serveDrain(ctx context.Context, self *rest.Config) error {
	return draindriver.Serve(ctx, self, draindriver.Options{
		DriverName: draindriver.DefaultDriverName, AnyNode: true, Namespace: f.options.Namespace,
		DataDir: filepath.Join(f.dir, "d"), RegistrationDir: f.registrationDir(),
		Observer: f.observer.Drains(), SLA: draindriver.DefaultSLA, EvictionTimeout: draindriver.DefaultEvictionTimeout, GracePeriodSeconds: -1,
	})
}

// drivesIfItLeads says whether the leader's driver is not there. Who stands by has none.
func (f *fleet) drivesIfItLeads() error {
	select {
	case <-f.manager.Elected():
	default:
		return nil
	}
	if !slices.Contains(f.drivers.Names(), draindriver.DefaultDriverName) {
		return fmt.Errorf("driver %s, which runs in this process, is not registered with it", draindriver.DefaultDriverName)
	}
	return nil
}

// registrationDir is where drivers register with this process, and nobody else's do.
func (f *fleet) registrationDir() string { return filepath.Join(f.dir, "r") }

// bells wake loops from outside of the watches: a call has ended, a driver has come.
type bells struct {
	queue atomic.Pointer[workqueue.TypedRateLimitingInterface[string]]
}

// start takes the queue.
func (b *bells) start(_ context.Context, queue workqueue.TypedRateLimitingInterface[string]) error {
	b.queue.Store(&queue)
	return nil
}

// ring asks for a pass of the node's loop. Before the loops run, there is nothing to
// be woken.
func (b *bells) ring(node string) {
	if queue := b.queue.Load(); queue != nil {
		(*queue).Add(node)
	}
}
