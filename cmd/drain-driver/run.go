// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/internal/platform/health"
	"github.com/slipway-k8s/slipway/internal/platform/identity"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// probeTimeout limits the answer of the driver to a probe, whose own limit is a second.
const probeTimeout = 500 * time.Millisecond

// addresses are the listen addresses of a standalone driver; "0" disables one.
type addresses struct{ health, metrics string }

// run serves the driver, its health and its metrics until ctx ends.
func run(ctx context.Context, self *rest.Config, options draindriver.Options, as identity.ActAs, at addresses) error {
	well := health.New(clock.RealClock{})
	self = well.Seen(self)
	if err := well.Begin(ctx, at.health, func(ctx context.Context) (err error) {
		options.AsNode, _, err = identity.For(ctx, self, options.NodeName, as)
		return err
	}); err != nil {
		return err
	}
	m, err := ctrl.NewManager(self, manager.Options{
		Logger:                 log.FromContext(ctx),
		MapperProvider:         noMapper,
		Metrics:                metricsserver.Options{BindAddress: at.metrics},
		HealthProbeBindAddress: at.health,
	})
	if err != nil {
		return fmt.Errorf("build the manager: %w", err)
	}
	drains, err := telemetry.NewDrains(metrics.Registry)
	if err != nil {
		return err
	}
	options.Observer = drains
	answers := func() error {
		ctx, cancel := context.WithTimeout(ctx, probeTimeout)
		defer cancel()
		return options.Probe(ctx)
	}
	well.Check(health.Liveness, "driver", answers)
	well.Check(health.Readiness, "driver", answers)
	if err := errors.Join(
		m.Add(manager.RunnableFunc(func(ctx context.Context) error { return draindriver.Serve(ctx, self, options) })),
		well.AddTo(m, metrics.Registry),
	); err != nil {
		return err
	}
	return m.Start(ctx)
}

// noMapper is for a manager without clients.
func noMapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return meta.NewDefaultRESTMapper(nil), nil
}
