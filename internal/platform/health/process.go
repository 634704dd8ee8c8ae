// SPDX-License-Identifier: Apache-2.0

package health

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

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

// stuckAfter is the maximum duration of a pass: some requests, each of which ends within a minute. Drivers do longer
// work outside of passes.
const stuckAfter = 5 * time.Minute

// Process knows the health of a process.
type Process struct {
	clock  clock.PassiveClock
	reach  *reach
	filled atomic.Bool
	checks []telemetry.HealthCheck

	mu     sync.Mutex
	passes map[*string]time.Time // the beginning of each running pass; the key is the name of its loop
}

// New returns the health of a process. It has a liveness check even without a loop: a kubelet kills a process that
// does not answer at /healthz.
func New(clock clock.PassiveClock) *Process {
	p := &Process{clock: clock, reach: &reach{clock: clock}, passes: map[*string]time.Time{}}
	p.Check(Readiness, "api-server", p.reach.check)
	p.Check(Readiness, "caches", func() error {
		if !p.filled.Load() {
			return errors.New("the caches are not filled yet")
		}
		return nil
	})
	p.Check(Liveness, "loop", p.loop)
	return p
}

// Check adds a check, which returns the problem. It must be quick.
func (p *Process) Check(probe, name string, check func() error) {
	p.checks = append(p.checks, telemetry.HealthCheck{Probe: probe, Name: name, Check: check})
}

// Seen returns the config of clients whose requests the process observes.
func (p *Process) Seen(config *rest.Config) *rest.Config {
	seen := rest.CopyConfig(config)
	seen.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tripper{p.reach, next} })
	return seen
}

// Loop returns the reconciler with observed passes.
func (p *Process) Loop(reconciler reconcile.TypedReconciler[string]) reconcile.TypedReconciler[string] {
	return reconcile.TypedFunc[string](func(ctx context.Context, node string) (reconcile.Result, error) {
		defer p.Pass("node " + node)()
		return reconciler.Reconcile(ctx, node)
	})
}

// Pass records the beginning of a pass of the named loop, and returns the function that records its end.
func (p *Process) Pass(loop string) (ended func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passes[&loop] = p.clock.Now()
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.passes, &loop)
	}
}

// AddTo is [Process.Serve] for a process that uses the manager's caches.
func (p *Process) AddTo(m manager.Manager, registerer prometheus.Registerer) error {
	return errors.Join(p.Serve(m, registerer), m.Add((*filled)(p)))
}

// Serve serves the checks at the manager's /healthz and /readyz, and in metrics. It must come after the last check.
// The process itself reports filled caches ([Process.Filled]).
func (p *Process) Serve(m manager.Manager, registerer prometheus.Registerer) error {
	errs := []error{telemetry.RegisterHealth(registerer, p.checks)}
	for _, c := range p.checks {
		add := m.AddReadyzCheck
		if c.Probe == Liveness {
			add = m.AddHealthzCheck
		}
		errs = append(errs, add(c.Name, func(*http.Request) error { return c.Check() }))
	}
	return errors.Join(errs...)
}

// Filled records that the caches are filled.
func (p *Process) Filled(ctx context.Context) {
	p.filled.Store(true)
	klog.FromContext(ctx).V(1).Info("The caches are filled")
}

func (p *Process) loop() error {
	of, since := p.longest()
	serverSince, away := p.reach.state()
	return stuck(of, since, serverSince, away, p.clock.Now())
}

// longest returns the loop whose pass has run for the longest time, and the beginning of that pass; zero without a pass.
func (p *Process) longest() (of string, since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for loop, begun := range p.passes {
		if since.IsZero() || begun.Before(since) {
			of, since = *loop, begun
		}
	}
	return of, since
}

// stuck returns an error for a pass that hangs and that a restart would help. A pass may wait for an unavailable API
// server, and has the full time again after an outage.
func stuck(of string, since, serverSince time.Time, away string, now time.Time) error {
	if since.IsZero() || away != "" {
		return nil
	}
	if serverSince.After(since) {
		since = serverSince
	}
	if hangs := now.Sub(since); hangs > stuckAfter {
		return fmt.Errorf("the loop of %s hangs: a pass has been running for %s, although the API server answers",
			of, hangs.Round(time.Second))
	}
	return nil
}

// filled is started by the manager when its caches are filled.
type filled Process

// Start records it.
func (f *filled) Start(ctx context.Context) error {
	(*Process)(f).Filled(ctx)
	return nil
}

// NeedLeaderElection is false: a standby process is ready to lead.
func (*filled) NeedLeaderElection() bool { return false }

// reach knows from the requests of the process whether the API server answers. Before the first request, it answers.
type reach struct {
	clock clock.PassiveClock

	mu    sync.Mutex
	since time.Time // the last change; zero without any
	away  string    // the problem; empty: the server answers
}

// check returns the beginning of the outage, and the problem.
func (r *reach) check() error {
	since, away := r.state()
	if away == "" {
		return nil
	}
	return fmt.Errorf("the API server has not answered since %s: %s", since.UTC().Format(time.RFC3339), away)
}

func (r *reach) state() (since time.Time, away string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.since, r.away
}

// record records whether the server answers, or the problem.
func (r *reach) record(ctx context.Context, away string) {
	r.mu.Lock()
	changed := (away == "") != (r.away == "")
	r.away = away
	if changed {
		r.since = r.clock.Now()
	}
	r.mu.Unlock()
	switch logger := klog.FromContext(ctx); {
	case changed && away != "":
		logger.Info("The API server does not answer; not ready until it does", "reason", away)
	case changed:
		logger.Info("The API server answers again")
	}
}

// verdict is the conclusion from a request.
type verdict int

const (
	nothing verdict = iota
	answers
	isAway
)

// judge returns the conclusion from a finished request. Among failures, only reads count: clients repeat them until
// they succeed, at least in watches, so that a success follows each outage.
func judge(method string, status int, err, ended error) verdict {
	switch {
	case err == nil && status < http.StatusInternalServerError:
		return answers
	case method != http.MethodGet, errors.Is(ended, context.Canceled):
		return nothing
	default:
		return isAway
	}
}

type tripper struct {
	reach *reach
	next  http.RoundTripper
}

// RoundTrip makes the request, and records its result.
func (t *tripper) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(request)
	var status int
	var reason string
	if err != nil {
		reason = err.Error()
	} else {
		status, reason = response.StatusCode, response.Status
	}
	switch judge(request.Method, status, err, request.Context().Err()) {
	case answers:
		t.reach.record(request.Context(), "")
	case isAway:
		t.reach.record(request.Context(), reason)
	case nothing:
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the innermost round tripper.
func (t *tripper) WrappedRoundTripper() http.RoundTripper { return t.next }
