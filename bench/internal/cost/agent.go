// SPDX-License-Identifier: Apache-2.0

package cost

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/bench/internal/meter"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// Agent measures an agent from a directory of binaries, on a node with this number of pods, and shows it as Markdown.
// It watches the agent at rest for a time.
func Agent(ctx context.Context, bin string, pods int, rest time.Duration, p *testbed.Progress) (text string, err error) {
	err = testbed.Run(ctx, testbed.Options{Nodes: 1}, p, func(c *testbed.Cluster) error {
		node := c.Nodes[:1]
		load := testbed.App{Namespace: "load", Name: "load", Nodes: slices.Repeat(node, pods), Bare: true, Gone: time.Second}
		if err := c.Create(ctx, []testbed.App{load}); err != nil {
			return err
		}
		agents, err := c.StartAgents(ctx, filepath.Join(bin, "node-agent"), node)
		if err != nil {
			return err
		}
		ctx, stop := testbed.While(ctx, agents...)
		defer stop()
		text, err = measureAgent(ctx, c, agents[0].PID(), pods, rest)
		return errors.Join(err, context.Cause(ctx))
	})
	return text, err
}

func measureAgent(ctx context.Context, c *testbed.Cluster, pid, pods int, rest time.Duration) (string, error) {
	// The node is in service: its return shows that the agent works.
	if _, err := c.Transition(ctx, testbed.Uncordon, c.Nodes, 0); err != nil {
		return "", err
	}
	atRest, err := observe(ctx, c, pid, testbed.AgentUser, func() error {
		c.Printf("the agent is at rest for %s", rest)
		return testbed.Pause(ctx, rest)
	})
	if err != nil {
		return "", err
	}
	drain, err := observe(ctx, c, pid, testbed.AgentUser, func() error {
		_, err := c.Transition(ctx, testbed.Drain, c.Nodes, 0)
		return err
	})
	if err != nil {
		return "", err
	}
	evictions, events := drain.byKind["create pods/eviction"], drain.byKind["create events"]+drain.byKind["patch events"]
	table := report.NewTable("one node-agent with the drain driver built in", fmt.Sprintf("on a node with %d pods", pods))
	table.Row("memory at rest", report.MiB(atRest.RSSKiB))
	table.Row("memory at its peak, in a drain of all pods", report.MiB(drain.PeakKiB))
	table.Row(fmt.Sprintf("requests at rest, in %s, beyond open watches", rest), strconv.Itoa(atRest.requests()))
	table.Row("evictions in that drain", strconv.Itoa(evictions))
	table.Row("core Events in that drain", strconv.Itoa(events))
	table.Row("other requests in that drain, beyond watches", strconv.Itoa(drain.requests()-evictions-events))
	table.Row("that drain took", drain.took.Round(100*time.Millisecond).String())
	return table.String(), nil
}

// observation is a process after a step, and its requests during the step, by verb and resource, except watches. failed
// are writes that the API server refused: another writer was faster.
type observation struct {
	meter.Process
	took   time.Duration
	byKind map[string]int
	failed int
}

// observe runs a step, and observes a process and its user.
func observe(ctx context.Context, c *testbed.Cluster, pid int, user string, step func() error) (o observation, err error) {
	if _, err := c.Requests(ctx); err != nil {
		return o, err
	}
	began := time.Now()
	if err := step(); err != nil {
		return o, err
	}
	o.took = time.Since(began)
	if o.Process, err = meter.ReadProcess(pid); err != nil {
		return o, err
	}
	requests, err := c.Requests(ctx)
	o.count(requests, user)
	return o, err
}

func (o *observation) count(requests []auditlog.Request, user string) {
	o.byKind = map[string]int{}
	for _, r := range requests {
		if r.User != user || r.Verb == "watch" || strings.Contains(r.URI, "watch=true") {
			continue
		}
		resource, _, _ := strings.Cut(r.Object(), " ")
		o.byKind[r.Verb+" "+resource]++
		if r.Code >= 400 && r.Verb != "get" {
			o.failed++
		}
	}
}

func (o *observation) requests() (sum int) {
	for _, n := range o.byKind {
		sum += n
	}
	return sum
}
