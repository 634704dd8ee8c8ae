// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// MixedSettings are the settings of Mixed.
type MixedSettings struct {
	// For is the duration of the load.
	For time.Duration
	// Seed seeds all random choices.
	Seed uint64
	// Settle is the time without requests before the controller is measured: the Go runtime collects garbage every 2
	// min at least, and then reports the live heap.
	Settle time.Duration
	// Bin is the directory of Slipway's programs.
	Bin string
}

// MixedResults has the measurements of hours of mixed load.
type MixedResults struct {
	Conditions report.Conditions `json:"conditions"`
	Kubernetes string            `json:"kubernetes"`
	Nodes      int               `json:"nodes"`
	Pods       int               `json:"pods"`
	Minutes    float64           `json:"minutes"`
	Seed       uint64            `json:"seed"`
	// Done counts the requests of each kind.
	Done map[string]int `json:"done"`
	// Start is the controller at rest after half of the time, and End at the end.
	Start look `json:"start"`
	End   look `json:"end"`
	// Broken are invariants that the audit log shows to be violated.
	Broken []string `json:"broken,omitempty"`
}

// look is the controller at a moment.
type look struct {
	Minute float64 `json:"minute"`
	RSSKiB int     `json:"rssKiB"`
	meter.Self
	CPUSeconds float64 `json:"cpuSeconds"`
}

// Held returns an error for each exceeded limit. At the end, the controller may have a few more goroutines of
// connections and timers than at the start, and a quarter more of the heap, for its caches.
func (r MixedResults) Held() error {
	const moreGoroutines, morePart = 10, 4
	var errs []error
	if r.End.Goroutines > r.Start.Goroutines+moreGoroutines {
		errs = append(errs, fmt.Errorf("the controller leaks goroutines: it had %d at rest, and %d at the end", r.Start.Goroutines, r.End.Goroutines))
	}
	if r.End.LiveKiB > r.Start.LiveKiB+r.Start.LiveKiB/morePart {
		errs = append(errs, fmt.Errorf("the controller leaks memory: %s of its heap were alive at rest, and %s at the end", report.MiB(r.Start.LiveKiB), report.MiB(r.End.LiveKiB)))
	}
	if len(r.Broken) > 0 {
		errs = append(errs, fmt.Errorf("%s\n%s", report.Kept(r.Broken), strings.Join(r.Broken, "\n")))
	}
	return errors.Join(errs...)
}

// Markdown lists the requests, and shows the controller before and after.
func (r MixedResults) Markdown() string {
	var done []string
	for _, what := range slices.Sorted(maps.Keys(r.Done)) {
		done = append(done, fmt.Sprintf("%d %s", r.Done[what], what))
	}
	table := report.NewTable("the controller at rest", "live heap", "memory", "goroutines", "CPU time so far")
	row := func(when string, l look) {
		table.Row(when, fmt.Sprintf("%.1f MiB", float64(l.LiveKiB)/kib), report.MiB(l.RSSKiB), fmt.Sprint(l.Goroutines), fmt.Sprintf("%.0f s", l.CPUSeconds))
	}
	row("after half of the time", r.Start)
	row("at the end", r.End)
	c := r.Conditions
	return fmt.Sprintf("In %.0f min, one controller for %d nodes with %d pods has done: %s.\n\n%s\n"+
		"%s Measured once, on %s, at commit %s, with seed %d: Kubernetes %s, %d cores of %s (load %s when it ended).\n",
		r.Minutes, r.Nodes, r.Pods, strings.Join(done, ", "), table, report.Kept(r.Broken), c.Date, c.Slipway, r.Seed, r.Kubernetes, c.Cores, c.CPU, c.Load)
}

// Mixed keeps drains, returns, EvictionRequests and maintenances going, and compares the controller
// after half of the time with that at the end. Until then it grows: what records core Events remembers
// thousands of them, to count those that come again.
func Mixed(ctx context.Context, s MixedSettings, p *testbed.Progress) (r MixedResults, err error) {
	r = MixedResults{Conditions: report.Now(ctx), Nodes: mixedNodes, Pods: mixedNodes * mixedPods, Minutes: s.For.Minutes(), Seed: s.Seed}
	o := options(mixedNodes)
	o.Evictions = true
	err = testbed.Run(ctx, o, p, func(c *testbed.Cluster) error {
		r.Kubernetes = c.Version
		return (&mixed{Cluster: c, settings: s, results: &r}).measure(ctx)
	})
	r.Conditions.Load = meter.ReadMachine().Load
	return r, err
}

// mixed is a measurement on a cluster.
type mixed struct {
	*testbed.Cluster
	settings   MixedSettings
	results    *MixedResults
	controller *testbed.Process
	address    string             // of the controller's metrics
	requests   []auditlog.Request // only requests that auditcheck wants
}

func (g *mixed) measure(ctx context.Context) (err error) {
	if err := g.Create(ctx, apps(g.Nodes, mixedPods)); err != nil {
		return err
	}
	if g.address, err = freeAddress(ctx); err != nil {
		return err
	}
	g.controller, err = g.StartController(ctx, filepath.Join(g.settings.Bin, "controller"),
		[]string{"--metrics-bind-address=" + g.address}, testbed.Central, testbed.Evicting)
	if err != nil {
		return err
	}
	ctx, stop := testbed.While(ctx, g.controller)
	defer stop()
	if err := g.load(ctx); err != nil {
		return fmt.Errorf("%w; the controller's log:\n%s", errors.Join(err, context.Cause(ctx)), g.controller.Tail())
	}
	r := g.results
	r.Broken, err = g.Violations(ctx, &g.requests, auditcheck.Options{})
	return err
}

// load keeps the load up, and measures the controller.
func (g *mixed) load(ctx context.Context) (err error) {
	// The last node is in service: its return shows that the controller works.
	if _, err := g.Transition(ctx, testbed.Uncordon, g.Nodes[len(g.Nodes)-1:], 0); err != nil {
		return err
	}
	r, half := g.results, g.settings.For/2
	load := newLoad(g.Cluster, g.settings.Seed, g.readLog)
	if err := load.keepUp(ctx, half); err != nil {
		return err
	}
	if r.Start, err = g.settled(ctx); err != nil {
		return err
	}
	if err := load.keepUp(ctx, g.settings.For-half); err != nil {
		return err
	}
	r.End, err = g.settled(ctx)
	r.Done = load.made
	return err
}

// freeAddress returns an address of this machine at which nothing listens.
func freeAddress(ctx context.Context) (string, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return listener.Addr().String(), listener.Close()
}

// settled measures the controller after a time without requests.
func (g *mixed) settled(ctx context.Context) (l look, err error) {
	g.Printf("at rest for %s", g.settings.Settle)
	if err := testbed.Pause(ctx, g.settings.Settle); err != nil {
		return l, err
	}
	used, err := meter.ReadProcess(g.controller.PID())
	if err != nil {
		return l, err
	}
	l = look{Minute: g.Elapsed().Minutes(), RSSKiB: used.RSSKiB, CPUSeconds: used.CPUSeconds}
	l.Self, err = meter.ReadSelf(ctx, g.address)
	g.Printf("the controller at rest: %s, %d goroutines, %s alive", report.MiB(l.RSSKiB), l.Goroutines, report.MiB(l.LiveKiB))
	return l, err
}

// readLog keeps the requests that auditcheck wants: the requests of hours are too many otherwise.
func (g *mixed) readLog() error {
	read, err := g.LoggedRequests()
	g.requests = append(g.requests, slices.DeleteFunc(read, func(r auditlog.Request) bool { return !auditcheck.Wanted(r) })...)
	return err
}
