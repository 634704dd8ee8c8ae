// SPDX-License-Identifier: Apache-2.0

package soak

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/test/auditcheck"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Settings of Scale.
type Settings struct {
	// Nodes is the number of nodes in the end, with PodsPerNode pods on each, of different apps.
	Nodes, PodsPerNode int
	// Sizes are the numbers of nodes before, while the controller is watched at rest.
	Sizes []int
	// Steps are numbers of nodes that the controller drains at once, step by step, each of different nodes.
	Steps []int
	// Agents are the numbers of agents in one process, while they are watched at rest. AgentSteps are the numbers of
	// agents that drain their nodes at once, step by step, each of different nodes.
	Agents, AgentSteps []int
	// Limit limits the memory of the controller, in MiB.
	Limit int
	// Rest is the time for which the controller, and agents, are watched at rest.
	Rest time.Duration
	// Bin is the directory of Slipway's programs.
	Bin string
}

// Full returns the settings of make soak.
func Full() Settings {
	return Settings{
		Nodes: 1000, PodsPerNode: 20, Sizes: []int{100, 300}, Steps: []int{1, 20, 50, 100},
		Agents: []int{1, 20, 50, 100, 200}, AgentSteps: []int{1, 20, 50, 129}, Limit: 300, Rest: time.Minute, Bin: "bin",
	}
}

func sum(numbers []int) (sum int) {
	for _, n := range numbers {
		sum += n
	}
	return sum
}

// mostAgents returns how many agents there are in the end.
func (s Settings) mostAgents() int { return slices.Max(append([]int{0}, s.Agents...)) }

// check reports whether there are as many nodes as the steps need. The pods that leave need others,
// which stay.
func (s Settings) check() error {
	if need := sum(s.Steps) + s.mostAgents(); need >= s.Nodes {
		return fmt.Errorf("--steps and --agents are for %d nodes, and there are %d: give more --nodes, or fewer steps", need, s.Nodes)
	}
	if drains := sum(s.AgentSteps); drains > s.mostAgents() {
		return fmt.Errorf("--agent-steps are %d drains, and there are %d agents: give more --agents, or fewer steps", drains, s.mostAgents())
	}
	if !slices.IsSorted(s.Agents) {
		return fmt.Errorf("--agents %v must rise: agents are only added", s.Agents)
	}
	if !slices.IsSorted(append(slices.Clone(s.Sizes), s.Nodes)) {
		return fmt.Errorf("--sizes %v must rise up to --nodes %d: nodes are only added", s.Sizes, s.Nodes)
	}
	if s.PodsPerNode <= 0 {
		return fmt.Errorf("--pods-per-node %d must be greater than 0", s.PodsPerNode)
	}
	return nil
}

//go:embed kwok.yaml
var kwok string

// options returns the options of the testbed. Nodes do not become NotReady when a small machine is late with the
// heartbeats of a thousand.
func options(nodes int) testbed.Options {
	return testbed.Options{Nodes: nodes, Kwok: "---\n" + kwok, Args: []string{"--controller-manager-arg=node-monitor-grace-period=10m"}}
}

// Scale measures the controller, and then agents; the audit log judges both.
func Scale(ctx context.Context, s Settings, p *testbed.Progress) (r Results, err error) {
	if err := s.check(); err != nil {
		return r, err
	}
	r = Results{Scenario: "central", Conditions: report.Now(ctx), Nodes: s.Nodes, Pods: s.Nodes * s.PodsPerNode, LimitMiB: s.Limit}
	err = testbed.Run(ctx, options(append(slices.Clone(s.Sizes), s.Nodes)[0]), p, func(c *testbed.Cluster) error {
		r.Conditions.Kubernetes = c.Version
		return (&scale{c, s}).measure(ctx, &r)
	})
	r.Conditions.Load = meter.ReadMachine().Load
	return r, err
}

// scale is a measurement on a cluster.
type scale struct {
	*testbed.Cluster
	settings Settings
}

func (g *scale) measure(ctx context.Context, r *Results) error {
	for _, size := range g.settings.Sizes {
		if err := g.grow(ctx, size); err != nil {
			return err
		}
		controller, err := g.controllerAtRest(ctx, r, 0)
		if err != nil {
			return err
		}
		if err := controller.Kill(); err != nil {
			return err
		}
	}
	if err := g.grow(ctx, g.settings.Nodes); err != nil {
		return err
	}
	g.Printf("creating %d pods", r.Pods)
	if err := g.Create(ctx, apps(g.Nodes, g.settings.PodsPerNode)); err != nil {
		return err
	}
	drained, err := g.measureController(ctx, r)
	if err != nil {
		return err
	}
	byAgents, err := g.measureAgents(ctx, r, g.Nodes[len(drained):])
	if err != nil {
		return err
	}
	var requests []auditlog.Request
	if r.Broken, err = g.Violations(ctx, &requests, auditcheck.Options{Cordoned: slices.Concat(drained, byAgents)}); err != nil {
		return err
	}
	r.count(requests)
	return nil
}

// grow adds simulated nodes like the first of the cluster, until there are so many.
func (g *scale) grow(ctx context.Context, size int) error {
	const sideBySide = 16
	first, err := g.Clients.CoreV1().Nodes().Get(ctx, g.Nodes[0], metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("get a node: %w", err)
	}
	adding, added := errgroup.WithContext(ctx)
	adding.SetLimit(sideBySide)
	for len(g.Nodes) < size {
		node := another(first, fmt.Sprintf("worker-%d", len(g.Nodes)+1))
		g.Nodes = append(g.Nodes, node.Name)
		adding.Go(func() error {
			if _, err := g.Clients.CoreV1().Nodes().Create(added, node, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create node %s: %w", node.Name, err)
			}
			return nil
		})
	}
	if err := adding.Wait(); err != nil {
		return err
	}
	return testbed.Await(ctx, g.Cluster, g.Clients.CoreV1().RESTClient(), "nodes", "", &corev1.Node{}, "nodes are ready", size, func(n *corev1.Node) bool {
		notReady := slices.ContainsFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == corev1.TaintNodeNotReady })
		return !notReady && slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
	})
}

func another(like *corev1.Node, name string) *corev1.Node {
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: maps.Clone(like.Labels), Annotations: like.Annotations}}
	node.Labels[corev1.LabelHostname] = name
	node.Status.Capacity, node.Status.Allocatable = like.Status.Capacity, like.Status.Allocatable
	return node
}

// apps puts podsPerNode pods on each node, of different apps. An app has a pod on each node of a group. The pods of a
// node are spread over as many namespaces, and every other app has a PodDisruptionBudget.
func apps(nodes []string, podsPerNode int) (all []testbed.App) {
	const (
		groups = 10
		// unavailable is less than the pods of an app that the last step drains.
		unavailable = 4
	)
	for slot := range podsPerNode {
		for group := range groups {
			a := testbed.App{
				Namespace: fmt.Sprintf("team-%d", slot), Name: fmt.Sprintf("app-%d", group),
				Gone: time.Second + time.Duration((slot+group)%3)*time.Second, // 1 to 3 s
			}
			for i := group; i < len(nodes); i += groups {
				a.Nodes = append(a.Nodes, nodes[i])
			}
			if (slot+group)%2 == 0 {
				a.Budget, a.MaxUnavailable = a.Name, min(unavailable, max(1, len(a.Nodes)/2))
			}
			all = append(all, a)
		}
	}
	return all
}

// measureController watches the controller at rest, and while it drains nodes. It returns which.
func (g *scale) measureController(ctx context.Context, r *Results) (drained []string, err error) {
	controller, err := g.controllerAtRest(ctx, r, r.Pods)
	if err != nil {
		return nil, err
	}
	ctx, stop := testbed.While(ctx, controller)
	defer stop()
	rest := r.Rest[len(r.Rest)-1]
	r.Steps = append(r.Steps, step{period: rest.period})
	r.PeakKiB = rest.MostKiB
	for _, n := range g.settings.Steps {
		s, err := g.drain(ctx, controller.PID(), g.Nodes[len(drained):len(drained)+n])
		if err != nil {
			return drained, errors.Join(err, context.Cause(ctx))
		}
		drained = g.Nodes[:len(drained)+n]
		r.Steps = append(r.Steps, s)
		r.PeakKiB = max(r.PeakKiB, s.MostKiB)
	}
	return drained, controller.Kill()
}

// controllerAtRest starts a controller, lets it return a node, which shows that it works, and watches it.
func (g *scale) controllerAtRest(ctx context.Context, r *Results, pods int) (*testbed.Process, error) {
	size := len(g.Nodes)
	g.Printf("starting the controller of %d nodes", size)
	controller, err := g.StartController(ctx, filepath.Join(g.settings.Bin, "controller"), nil, testbed.Central)
	if err != nil {
		return nil, err
	}
	ctx, stop := testbed.While(ctx, controller)
	defer stop()
	rest := atRest{Size: size, Pods: pods}
	_, err = g.Transition(ctx, testbed.Uncordon, g.Nodes[size-1:], 0)
	if err == nil {
		err = g.rest(ctx, &rest, controller.PID())
	}
	r.Rest = append(r.Rest, rest)
	return controller, errors.Join(err, context.Cause(ctx))
}

// rest watches a process that gets no requests.
func (g *scale) rest(ctx context.Context, r *atRest, pid int) error {
	g.Printf("at rest for %s", g.settings.Rest)
	m := g.meter(pid)
	if err := watch(ctx, m, &r.period, func() error { return testbed.Pause(ctx, g.settings.Rest) }); err != nil {
		return err
	}
	var err error
	r.Used.ServerLiveKiB, err = m.Collect(ctx)
	g.Printf("%d at rest: %s, %.2f s of CPU time, %d bytes received", r.Size, report.MiB(r.MostKiB), r.Used.CPUSeconds, r.Used.Received)
	return err
}

func (g *scale) meter(pid int) *meter.Meter {
	return &meter.Meter{PID: pid, Components: g.Components, Admin: g.Clients.CoreV1().RESTClient()}
}

// drain drains nodes, all at once, and watches the process that does it.
func (g *scale) drain(ctx context.Context, pid int, nodes []string) (step, error) {
	g.Printf("draining %d nodes at once", len(nodes))
	s := step{Nodes: len(nodes)}
	err := watch(ctx, g.meter(pid), &s.period, func() error {
		times, err := g.Transition(ctx, testbed.Drain, nodes, 0)
		s.AtOnce = times.AtOnce
		return err
	})
	if err != nil {
		return s, err
	}
	g.Printf("%d nodes, %d of them at a time: %.1f s, %s, %.1f s of CPU time", s.Nodes, s.AtOnce, s.Seconds, report.MiB(s.MostKiB), s.Used.CPUSeconds)
	return s, nil
}

// watch records the use of resources by a process and the control plane during a step.
func watch(ctx context.Context, m *meter.Meter, into *period, do func() error) error {
	into.began = time.Now()
	before, err := m.Read(ctx)
	if err = errors.Join(err, meter.ResetPeak(m.PID)); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	after, err := m.Read(ctx)
	if err != nil {
		return err
	}
	process, err := meter.ReadProcess(m.PID)
	used := after.Since(before)
	into.ended, into.Seconds, into.MostKiB, into.Used = time.Now(), used.Seconds, process.PeakKiB, &used
	return err
}
