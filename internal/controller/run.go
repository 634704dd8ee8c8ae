// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/slipway-k8s/slipway/internal/lifecycle/central"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/internal/platform/health"
	"github.com/slipway-k8s/slipway/internal/platform/serverclock"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// Run runs the controller until ctx ends. The options must be valid. It fails when the process
// is no longer the leader: only a new process has no work in progress.
func Run(ctx context.Context, self *rest.Config, options Options) error {
	well, judged := health.New(clock.RealClock{}), serverclock.New(clock.RealClock{}, log.FromContext(ctx))
	self = judged.Seen(well.Seen(self))
	httpClient, err := rest.HTTPClientFor(self)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	var found apigroup.Home
	if err := well.Begin(ctx, options.HealthAddress, func(ctx context.Context) (err error) {
		found, err = apigroup.Find(ctx, self, httpClient)
		return err
	}); err != nil {
		return err
	}
	log.FromContext(ctx).Info("Starting", "builtinDrivers", options.Builtin, "registrationDir", options.RegistrationDir, "home", found.Group())

	p := &process{options: options, home: found, watch: apigroup.NewWatch(self, httpClient, found), clock: clock.RealClock{}, judged: judged, health: well}
	defer p.close()
	if err := p.build(ctx, self); err != nil {
		return err
	}
	return p.manager.Start(ctx)
}

// process is a controller with its clients, caches and servers.
type process struct {
	options Options
	home    apigroup.Home
	watch   *apigroup.Watch
	clock   clock.WithTicker
	judged  *serverclock.Clock // for times that the API server judges

	manager  manager.Manager
	nodes    corev1client.NodeInterface
	observer *telemetry.Source
	fleet    *central.Fleet // nil without central drivers
	health   *health.Process
}

// build builds the controller, and starts no part of it.
func (p *process) build(ctx context.Context, self *rest.Config) (err error) {
	if p.manager, err = p.newManager(ctx, self); err != nil {
		return fmt.Errorf("build the manager: %w", err)
	}
	clients, err := kubernetes.NewForConfig(self)
	if err != nil {
		return fmt.Errorf("build the client for Nodes: %w", err)
	}
	p.nodes = clients.CoreV1().Nodes()
	if p.observer, err = telemetry.New(ctx, telemetry.Options{
		Component: telemetry.Controller, APIGroup: p.home.Group(), Events: clients.CoreV1(), Metrics: metrics.Registry,
	}); err != nil {
		return err
	}
	if err := errors.Join(p.addLifecycle(self), p.addNodes(clients.CoordinationV1()), p.addMaintenances(ctx, self)); err != nil {
		return err
	}
	if p.options.EvictionRequests {
		if err := p.addEvictions(ctx, self); err != nil {
			return err
		}
	}
	p.health.Check(health.Readiness, "api-home", p.watch.Check)
	return errors.Join(
		p.manager.Add(manager.RunnableFunc(p.lead)),
		p.health.AddTo(p.manager, metrics.Registry),
	)
}

// lead reports in logs and metrics that the process is the leader.
func (p *process) lead(ctx context.Context) error {
	p.observer.Leads()
	log.FromContext(ctx).Info("Leading")
	return nil
}

// close ends the parts that the manager does not end.
func (p *process) close() {
	if p.fleet != nil {
		p.fleet.Wait()
	}
	if p.observer != nil {
		p.observer.Close()
	}
}

// writer returns the writer of a Node.
func (p *process) writer(node string) *nodestate.Writer {
	return nodestate.NewWriter(p.nodes, node, p.clock)
}
