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
	if _, err := c.Requests(ctx); err != nil {
		return "", err
	}
	c.Printf("the agent is at rest for %s", rest)
	select {
	case <-time.After(rest):
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	atRest, err := meter.ReadProcess(pid)
	if err != nil {
		return "", err
	}
	requestsAtRest, err := c.Requests(ctx)
	if err != nil {
		return "", err
	}
	times, err := c.Transition(ctx, testbed.Drain, c.Nodes, 0)
	if err != nil {
		return "", err
	}
	drained, err := meter.ReadProcess(pid)
	if err != nil {
		return "", err
	}
	requests, err := c.Requests(ctx)
	if err != nil {
		return "", err
	}
	byKindAtRest, _ := count(requestsAtRest, testbed.AgentUser)
	byKind, _ := count(requests, testbed.AgentUser)
	evictions, events := byKind["create pods/eviction"], byKind["create events"]+byKind["patch events"]
	table := report.NewTable("one node-agent with the drain driver built in", fmt.Sprintf("on a node with %d pods", pods))
	table.Row("memory at rest", report.MiB(atRest.RSSKiB))
	table.Row("memory at its peak, in a drain of all pods", report.MiB(drained.PeakKiB))
	table.Row(fmt.Sprintf("requests at rest, in %s, beyond open watches", rest), strconv.Itoa(sum(byKindAtRest)))
	table.Row("evictions in that drain", strconv.Itoa(evictions))
	table.Row("core Events in that drain", strconv.Itoa(events))
	table.Row("other requests in that drain, beyond watches", strconv.Itoa(sum(byKind)-evictions-events))
	table.Row("that drain took", times.Over.Sub(times.Began).Round(100*time.Millisecond).String())
	return table.String(), nil
}

// count counts the requests of a user, except watches, by verb and resource. Failed are writes that
// the API server refused: another writer was faster.
func count(requests []auditlog.Request, user string) (byKind map[string]int, failed int) {
	byKind = map[string]int{}
	for _, r := range requests {
		if r.User != user || r.Verb == "watch" || strings.Contains(r.URI, "watch=true") {
			continue
		}
		kind := r.Verb + " " + r.Resource
		if r.Subresource != "" {
			kind += "/" + r.Subresource
		}
		byKind[kind]++
		if r.Code >= 400 && r.Verb != "get" {
			failed++
		}
	}
	return byKind, failed
}

func sum(byKind map[string]int) (sum int) {
	for _, n := range byKind {
		sum += n
	}
	return sum
}
