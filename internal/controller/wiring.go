// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	"google.golang.org/grpc/test/bufconn"
	corev1 "k8s.io/api/core/v1"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	"github.com/slipway-k8s/slipway/internal/eviction/evictor"
	"github.com/slipway-k8s/slipway/internal/eviction/requester"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
	"github.com/slipway-k8s/slipway/internal/lifecycle/central"
	"github.com/slipway-k8s/slipway/internal/lifecycle/plugins"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	maintenancecontroller "github.com/slipway-k8s/slipway/internal/maintenance/controller"
	leaseholder "github.com/slipway-k8s/slipway/internal/node/lease/holder"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	shutdowncontroller "github.com/slipway-k8s/slipway/internal/node/shutdown/controller"
	"github.com/slipway-k8s/slipway/nodelease"
)

// workers is the number of nodes that each controller works on at a time, except for the
// overseer, which must decide about guards one event after another. A pass takes a few
// requests; long work is in the drivers.
const workers = 8

// addLifecycle adds the overseer of all nodes, the marker of transitions and, with central drivers,
// the agents for these. Only the leader runs them.
func (p *process) addLifecycle(self *rest.Config) error {
	options := central.Options{
		Namespace: p.options.Namespace, CentralDrivers: p.options.centralDrivers(), NodeLeases: p.options.NodeLeases, StrictGuards: p.options.StrictGuards,
		FinishedEventTTL: p.options.FinishedEventTTL, Home: p.home,
		Cached: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Recorder: record.New(p.manager.GetClient()),
		Writer: p.writer, Observer: p.observer, Clock: p.clock,
	}
	err := loop.Add(p.manager, "overseer", p.health.Loop(central.NewOverseer(options)), 1, central.OverseerSources(p.manager.GetCache())...)
	if err != nil {
		return err
	}
	marker := central.NewMarker(options)
	if options.CentralDrivers {
		if err := p.addFleet(self, options); err != nil {
			return err
		}
		marker = p.fleet.Marker()
	}
	return errors.Join(
		loop.Add(p.manager, "marker", p.health.Loop(marker), 1, marker.Sources(p.manager.GetCache())...),
		loop.Add(p.manager, "freezes", p.health.Loop(&central.Freezes{Client: p.manager.GetClient(), Clock: p.clock}), 1, central.FreezeSources(p.manager.GetCache())...),
		loop.Add(p.manager, "budgets", p.health.Loop(&central.Budgets{Options: options}), 1, central.BudgetSources(p.manager.GetCache())...),
	)
}

// addFleet adds the agents for central drivers, and the built-in drivers.
func (p *process) addFleet(self *rest.Config, options central.Options) (err error) {
	p.fleet = central.NewFleet(options, p.options.RegistrationDir)
	err = errors.Join(
		loop.Add(p.manager, "agents", p.health.Loop(p.fleet), workers, p.fleet.Sources(p.manager.GetCache())...),
		p.manager.Add(manager.RunnableFunc(p.fleet.Drivers().Run)),
	)
	if err != nil || len(p.options.Builtin) == 0 {
		return err
	}
	listener := bufconn.Listen(plugins.InProcessBuffer)
	p.fleet.Drivers().AddInProcess(p.options.Drains.DriverName, listener.DialContext)
	return p.manager.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return draindriver.Serve(ctx, self, draindriver.Options{
			Settings: p.options.Drains, BuiltIn: true, AnyNode: true, Namespace: p.options.Namespace,
			Listener: listener, Observer: p.observer.Drains(),
		})
	}))
}

// addNodes adds the controller of shutdowns and, with NodeLeases, the holder of node leases.
func (p *process) addNodes(leases coordinationclient.LeasesGetter) error {
	recorder := record.New(p.manager.GetClient())
	shutdowns := shutdowncontroller.New(shutdowncontroller.Options{
		Cached: p.manager.GetCache(), Live: p.manager.GetAPIReader(),
		Recorder: recorder, Writer: p.writer, Ended: p.observer.ShutdownEnded, Clock: p.clock,
	})
	err := loop.Add(p.manager, "shutdowns", p.health.Loop(shutdowns), workers, shutdowncontroller.Sources(p.manager.GetCache())...)
	if err != nil || !p.options.NodeLeases {
		return err
	}
	holder := leaseholder.New(leaseholder.Options{
		Cached: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Leases: leases.Leases(nodelease.Namespace),
		Recorder: recorder, Writer: p.writer, Observer: p.observer, Clock: p.clock,
	})
	return loop.Add(p.manager, "leases", p.health.Loop(holder), workers, leaseholder.Sources(p.manager.GetCache())...)
}

// addMaintenances adds the controller of NodeMaintenances. While there are none, it only
// watches.
func (p *process) addMaintenances(ctx context.Context, self *rest.Config) error {
	m, err := maintenancecontroller.New(ctx, maintenancecontroller.Options{
		Self: self, Cache: p.manager.GetCache(), Client: p.manager.GetClient(), Live: p.manager.GetAPIReader(),
		Events: record.New(p.manager.GetClient()), Node: p.writer, Tell: p.observer.Maintenances(),
		Namespace: p.options.Namespace, Jobs: p.options.MaintenanceJobs, Leases: p.options.NodeLeases, Clock: p.clock,
	})
	if err != nil {
		return fmt.Errorf("build the controller of maintenances: %w", err)
	}
	return p.manager.Add(manager.RunnableFunc(m.Run))
}

// addEvictions adds Slipway's responders, the requester for pods that drains leave to responders, and, unless
// Kubernetes has its own, the evictionrequest-controller and the last responder.
func (p *process) addEvictions(ctx context.Context, self *rest.Config) error {
	responds, extra, err := p.addSurge(self)
	if err != nil {
		return err
	}
	drains, err := requester.New(ctx, requester.Options{
		Self: self, Events: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Clock: p.clock, Responds: responds,
	})
	if err != nil {
		return fmt.Errorf("build the requester of evictions for drains: %w", err)
	}
	if err := p.manager.Add(manager.RunnableFunc(drains.Run)); err != nil || !p.options.EvictionController {
		return err
	}
	requests, err := evictioncontroller.New(self, p.judged, p.observer.LeftToKubernetes, extra...)
	if err != nil {
		return fmt.Errorf("build the evictionrequest-controller: %w", err)
	}
	last, err := evictor.New(self, p.judged, p.observer.Drains())
	if err != nil {
		return fmt.Errorf("build the responder that evicts: %w", err)
	}
	return errors.Join(p.manager.Add(manager.RunnableFunc(requests.Run)), p.manager.Add(manager.RunnableFunc(last.Run)))
}

// addSurge adds the surge responder. It returns the test for pods that have a responder.
func (p *process) addSurge(self *rest.Config) (requester.Responds, []evictioncontroller.Responder, error) {
	s, err := surgecontroller.New(self, p.judged, p.options.Surge)
	if err != nil {
		return nil, nil, fmt.Errorf("build the surge responder: %w", err)
	}
	if p.options.Surge == surgecontroller.Off { // it restores released pods
		return requester.ByPod, nil, p.manager.Add(manager.RunnableFunc(s.Run))
	}
	responds := func(ctx context.Context, pod *corev1.Pod) (bool, error) {
		if named, err := requester.ByPod(ctx, pod); named || err != nil {
			return named, err
		}
		return s.Applies(ctx, pod)
	}
	extra := []evictioncontroller.Responder{{EvictionResponder: surge.Itself(), Applies: s.Applies}}
	return responds, extra, p.manager.Add(manager.RunnableFunc(s.Run))
}
