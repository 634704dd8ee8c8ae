// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

// FloodSettings are the settings of Flood.
type FloodSettings struct {
	// For is the time for which each party floods the cluster.
	For time.Duration
	// Parties are the parties by name. Empty: all.
	Parties []string
	// Bin is the directory of Slipway's programs.
	Bin string
}

// The limits of a flood: of the growth of a process, of its memory (the chart's limits), and of the duration of a drain, compared
// with the duration beside ConfigMaps.
const (
	mostGrowthKiB    = 32 << 10
	agentLimitKiB    = 256 << 10
	controllerLimit  = 512 << 10
	slowestDrain     = 1.25
	floodNodes       = 20
	floodConnections = 8
	// drainedNodes are the last nodes: no party is on them.
	drainedNodes = 5
	podsPerDrain = 5
)

// FloodResults are the measurements of all parties.
type FloodResults struct {
	Conditions report.Conditions `json:"conditions"`
	Kubernetes string            `json:"kubernetes"`
	Minutes    float64           `json:"minutes"`
	Parties    []flooded         `json:"parties"`
}

// flooded has the measurements of one party.
type flooded struct {
	Party string `json:"party"`
	// Accepted and Rejected are requests per second.
	Accepted float64 `json:"accepted"`
	Rejected float64 `json:"rejected"`
	// Growth and Most are of the process that grew most, and of the largest, in KiB, without the agent of the party's node.
	AgentGrowth      int `json:"agentGrowth"`
	AgentMost        int `json:"agentMost"`
	ControllerGrowth int `json:"controllerGrowth"`
	ControllerMost   int `json:"controllerMost"`
	// Drain and Beside are median durations of drains in seconds, during the flood and beside ConfigMaps at the same rate.
	Drain  float64 `json:"drain"`
	Beside float64 `json:"beside"`
	Drains int     `json:"drains"`
}

// Held returns an error for each exceeded limit.
func (r FloodResults) Held() error {
	var errs []error
	for _, p := range r.Parties {
		if growth := max(p.AgentGrowth, p.ControllerGrowth); growth > mostGrowthKiB {
			errs = append(errs, fmt.Errorf("%s: a process grew by %s", p.Party, report.MiB(growth)))
		}
		if p.AgentMost > agentLimitKiB || p.ControllerMost > controllerLimit {
			errs = append(errs, fmt.Errorf("%s: an agent took %s, a controller %s", p.Party, report.MiB(p.AgentMost), report.MiB(p.ControllerMost)))
		}
		if p.Drain > slowestDrain*p.Beside {
			errs = append(errs, fmt.Errorf("%s: a drain took %.2f s, and %.2f s beside ConfigMaps", p.Party, p.Drain, p.Beside))
		}
	}
	return errors.Join(errs...)
}

// Markdown shows a row for each party.
func (r FloodResults) Markdown() string {
	table := report.NewTable("party", "requests per second (rejected)", "largest growth of an agent", "of a controller", "drain", "drain beside ConfigMaps", "ratio")
	for _, p := range r.Parties {
		table.Row(p.Party, fmt.Sprintf("%.0f (%.0f)", p.Accepted+p.Rejected, p.Rejected), report.MiB(p.AgentGrowth), report.MiB(p.ControllerGrowth),
			fmt.Sprintf("%.2f s", p.Drain), fmt.Sprintf("%.2f s", p.Beside), fmt.Sprintf("%.2f", p.Drain/p.Beside))
	}
	c := r.Conditions
	return fmt.Sprintf("%s\nEach party for %g min, with %d connections, against %d agents and 2 controllers; the agent of the party's node is left out. Drains are medians. "+
		"Measured once, on %s, at commit %s: Kubernetes %s, %d cores of %s (load %s when it ended).\n",
		table, r.Minutes, floodConnections, floodNodes, c.Date, c.Slipway, r.Kubernetes, c.Cores, c.CPU, c.Load)
}

// Flood lets one party after the other send as many requests as it can, each on a new cluster, and watches all processes of Slipway
// and the drains of other nodes.
func Flood(ctx context.Context, s FloodSettings, p *testbed.Progress) (r FloodResults, err error) {
	r = FloodResults{Conditions: report.Now(ctx), Minutes: s.For.Minutes()}
	o := options(floodNodes)
	o.Evictions, o.Unaudited = true, true
	o.Args = append(o.Args, "--etcd-arg=quota-backend-bytes=8589934592") // enough for a flood
	for _, name := range partyNames {
		if len(s.Parties) > 0 && !slices.Contains(s.Parties, name) {
			continue
		}
		err := testbed.Run(ctx, o, p, func(c *testbed.Cluster) error {
			r.Kubernetes = c.Version
			f, err := (&flood{Cluster: c, settings: s}).measure(ctx, name)
			r.Parties = append(r.Parties, f)
			return err
		})
		if err != nil {
			return r, fmt.Errorf("%s: %w", name, err)
		}
	}
	r.Conditions.Load = meter.ReadMachine().Load
	return r, nil
}

// flood is a measurement of one party on a cluster.
type flood struct {
	*testbed.Cluster
	settings            FloodSettings
	agents, controllers []*testbed.Process
}

func (g *flood) measure(ctx context.Context, name string) (f flooded, err error) {
	if err := g.start(ctx); err != nil {
		return f, err
	}
	ctx, stop := testbed.While(ctx, slices.Concat(g.agents, g.controllers)...)
	defer stop()
	p, err := g.party(ctx, name)
	if err != nil {
		return f, err
	}
	f, err = g.flood(ctx, p)
	return f, errors.Join(err, context.Cause(ctx))
}

// start starts all processes, and drains each node that is drained later: a first drain takes memory, too.
func (g *flood) start(ctx context.Context) (err error) {
	var apps []testbed.App
	for i, node := range g.drained() {
		apps = append(apps, testbed.App{Namespace: "load", Name: fmt.Sprintf("app-%d", i), Nodes: []string{node}, Replicas: podsPerDrain, Gone: time.Second})
	}
	if err := g.Create(ctx, apps); err != nil {
		return err
	}
	if g.agents, err = g.StartAgents(ctx, filepath.Join(g.settings.Bin, "node-agent"), g.Nodes); err != nil {
		return err
	}
	for range 2 {
		c, err := g.StartController(ctx, filepath.Join(g.settings.Bin, "controller"), nil, testbed.Evicting)
		if err != nil {
			return err
		}
		g.controllers = append(g.controllers, c)
	}
	_, err = g.drains(ctx, func(i int) bool { return i < drainedNodes })
	return err
}

func (g *flood) drained() []string { return g.Nodes[len(g.Nodes)-drainedNodes:] }

// flood measures one party: first its flood, then ConfigMaps at the same rate.
func (g *flood) flood(ctx context.Context, p *party) (f flooded, err error) {
	f.Party = p.name
	g.Printf("%s: a flood of %s", p.name, g.settings.For)
	before, err := g.memory()
	if err != nil {
		return f, err
	}
	most, sent, during, err := g.beside(ctx, g.settings.For, rate.Inf, p.attempt)
	if err != nil {
		return f, err
	}
	seconds := g.settings.For.Seconds()
	f.Accepted, f.Rejected = float64(sent.accepted.Load())/seconds, float64(sent.rejected.Load())/seconds
	for i := range g.agents[1:] {
		f.AgentGrowth, f.AgentMost = max(f.AgentGrowth, most.agents[i+1]-before.agents[i+1]), max(f.AgentMost, most.agents[i+1])
	}
	for i := range g.controllers {
		f.ControllerGrowth, f.ControllerMost = max(f.ControllerGrowth, most.controllers[i]-before.controllers[i]), max(f.ControllerMost, most.controllers[i])
	}
	g.Printf("%s: %d requests were accepted, and %d rejected; agents grew by %s, controllers by %s", p.name, sent.accepted.Load(), sent.rejected.Load(),
		report.MiB(f.AgentGrowth), report.MiB(f.ControllerGrowth))
	_, _, beside, err := g.beside(ctx, g.settings.For/2, rate.Limit(f.Accepted+f.Rejected), g.configMaps(p.bytes))
	if err != nil {
		return f, err
	}
	f.Drain, f.Beside, f.Drains = median(during), median(beside), len(during)
	g.Printf("%s: %d drains took %.2f s, and %.2f s beside ConfigMaps", p.name, f.Drains, f.Drain, f.Beside)
	return f, nil
}

// counts are the answers to the requests of a party.
type counts struct {
	accepted, rejected atomic.Int64
	example            sync.Once
}

// count counts an answer, and shows the first rejection.
func (c *counts) count(p *testbed.Progress, err error) {
	if err == nil {
		c.accepted.Add(1)
		return
	}
	c.rejected.Add(1)
	c.example.Do(func() { p.Printf("a request is rejected: %v", err) })
}

// beside drains nodes, one after the other, while the attempts are made for a time, at most at that rate.
func (g *flood) beside(ctx context.Context, long time.Duration, limit rate.Limit, attempt attempt) (most memory, sent *counts, took []time.Duration, err error) {
	until := time.Now().Add(long)
	flooding, stop := context.WithDeadline(ctx, until)
	defer stop()
	sent = &counts{}
	limiter := rate.NewLimiter(limit, floodConnections)
	var number atomic.Int64
	var senders errgroup.Group
	for range floodConnections {
		senders.Go(func() error {
			for limiter.Wait(flooding) == nil {
				if err := attempt(flooding, int(number.Add(1))); err == nil || flooding.Err() == nil {
					sent.count(g.Progress, err)
				}
			}
			return nil
		})
	}
	most, err = g.memory()
	senders.Go(func() error { return g.watchMemory(flooding, &most) })
	if err == nil {
		took, err = g.drains(ctx, func(int) bool { return time.Now().Before(until) })
	}
	stop()
	return most, sent, took, errors.Join(err, senders.Wait())
}

// drains drains and returns nodes in turns while another(i) is true for the i-th, and returns how long the drains took.
func (g *flood) drains(ctx context.Context, another func(i int) bool) (took []time.Duration, err error) {
	for i := 0; another(i); i++ {
		node := g.drained()[i%drainedNodes]
		drain, err := g.once(ctx, testbed.Drain, node)
		if err != nil {
			return nil, err
		}
		if _, err := g.once(ctx, testbed.Uncordon, node); err != nil {
			return nil, err
		}
		took = append(took, drain)
		err = testbed.Await(ctx, g.Cluster, g.Clients.CoreV1().RESTClient(), "pods", "load", &corev1.Pod{}, "pods are back", podsPerDrain, func(p *corev1.Pod) bool {
			return p.Spec.NodeName == node && p.Status.Phase == corev1.PodRunning && p.DeletionTimestamp == nil
		})
		if err != nil {
			return nil, err
		}
	}
	return took, nil
}

// once makes one transition of a node.
func (g *flood) once(ctx context.Context, transition, node string) (took time.Duration, err error) {
	event, began := testbed.EventOf(transition, node), time.Now()
	err = testbed.Follow(ctx, g.Objects, &lifecyclev1alpha1.LifecycleEventList{}, func() error { return g.Objects.Create(ctx, event) },
		func(e *lifecyclev1alpha1.LifecycleEvent, deleted bool) (bool, error) {
			switch phase := e.Status.ClaimStatus; {
			case phase == lifecyclev1alpha1.Succeeded && took == 0:
				took = time.Since(began)
			case phase.Terminal() && phase != lifecyclev1alpha1.Succeeded:
				return false, fmt.Errorf("%s ended as %s: %+v", e.Name, phase, e.Status.Conditions)
			}
			return deleted, nil
		}, client.MatchingFields{"metadata.name": event.Name})
	return took, err
}

// memory is the memory of each process, in KiB.
type memory struct{ agents, controllers []int }

func (g *flood) memory() (m memory, err error) {
	read := func(processes []*testbed.Process) (sizes []int) {
		for _, p := range processes {
			used, readErr := meter.ReadProcess(p.PID())
			sizes, err = append(sizes, used.RSSKiB), errors.Join(err, readErr)
		}
		return sizes
	}
	return memory{read(g.agents), read(g.controllers)}, err
}

// watchMemory records the most memory of each process until ctx ends.
func (g *flood) watchMemory(ctx context.Context, most *memory) error {
	const period = time.Second
	for testbed.Pause(ctx, period) == nil {
		now, err := g.memory()
		if err != nil {
			return err
		}
		for i, size := range now.agents {
			most.agents[i] = max(most.agents[i], size)
		}
		for i, size := range now.controllers {
			most.controllers[i] = max(most.controllers[i], size)
		}
	}
	return nil
}

// median returns the median in seconds.
func median(all []time.Duration) float64 {
	slices.Sort(all)
	return all[len(all)/2].Seconds()
}

// configMaps creates ConfigMaps of that size.
func (g *flood) configMaps(bytes int) attempt {
	text := filling(bytes)
	return func(ctx context.Context, _ int) error {
		_, err := g.Clients.CoreV1().ConfigMaps(floodNamespace).Create(ctx, &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "flood-"}, Data: map[string]string{"text": text},
		}, metav1.CreateOptions{})
		return err
	}
}
