// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// The two probes.
const (
	Liveness  = "liveness"
	Readiness = "readiness"
)

// Process is what is known of the health of a process.
type Process struct {
	clock  clock.PassiveClock
	reach  *reach
	passes *passes
	filled atomic.Bool
	checks []telemetry.HealthCheck
}

// New is for one process, whose manager says when its caches are filled. Without any loop, too,
// there is a check of the liveness: where there is none, nobody answers at /healthz, and a kubelet
// takes that for death.
func New(clock clock.PassiveClock) *Process {
	p := &Process{clock: clock, reach: newReach(clock), passes: newPasses(clock)}
	p.Check(Readiness, "api-server", p.reach.check)
	p.Check(Readiness, "caches", p.caches)
	p.Check(Liveness, "loop", p.loop)
	return p
}

// Check adds a check. It returns what is the matter, and must be quick.
func (p *Process) Check(probe, name string, check func() error) {
	p.checks = append(p.checks, telemetry.HealthCheck{Probe: probe, Name: name, Check: check})
}

// Seen is the config for clients whose requests are looked at.
func (p *Process) Seen(config *rest.Config) *rest.Config {
	seen := rest.CopyConfig(config)
	seen.Wrap(p.reach.roundTripper)
	return seen
}

// Loop is the reconciler, of which each pass is looked at.
func (p *Process) Loop(reconciler reconcile.TypedReconciler[string]) reconcile.TypedReconciler[string] {
	return p.passes.of(reconciler)
}

// Pass notes that a pass begins of a loop that is no reconciler, and returns what notes its end.
// The loop is called as people would call it.
func (p *Process) Pass(of string) (ended func()) { return p.passes.begin(of) }

// AddTo is [Process.Serve], for a process whose caches are the manager's.
func (p *Process) AddTo(m manager.Manager, registerer prometheus.Registerer) error {
	return errors.Join(p.Serve(m, registerer), m.Add((*filled)(p)))
}

// Serve serves the checks at the manager's /healthz and /readyz, and in metrics. No check
// can be added after it. That its caches are filled, the process says ([Process.Filled]).
func (p *Process) Serve(m manager.Manager, registerer prometheus.Registerer) error {
	errs := []error{telemetry.RegisterHealth(registerer, p.checks)}
	for _, c := range p.checks {
		check := func(*http.Request) error { return c.Check() }
		if c.Probe == Liveness {
			errs = append(errs, m.AddHealthzCheck(c.Name, check))
			continue
		}
		errs = append(errs, m.AddReadyzCheck(c.Name, check))
	}
	return errors.Join(errs...)
}

// Filled notes that the caches are filled.
func (p *Process) Filled(ctx context.Context) {
	p.filled.Store(true)
	klog.FromContext(ctx).V(1).Info("The caches are filled")
}

func (p *Process) loop() error {
	of, since := p.passes.longest()
	serverSince, away := p.reach.state()
	return stuck(of, since, serverSince, away, p.clock.Now())
}

func (p *Process) caches() error {
	if !p.filled.Load() {
		return errors.New("the caches are not filled yet")
	}
	return nil
}

// filled is started by the manager when its caches are filled, also of who stands by.
type filled Process

// Start notes it.
func (f *filled) Start(ctx context.Context) error {
	(*Process)(f).Filled(ctx)
	return nil
}

// NeedLeaderElection is false: who stands by is ready to take over.
func (*filled) NeedLeaderElection() bool { return false }
