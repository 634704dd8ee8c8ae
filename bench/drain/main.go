// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/drain/internal/contender"
	"github.com/slipway-k8s/slipway/bench/drain/internal/report"
	"github.com/slipway-k8s/slipway/bench/drain/internal/scenario"
)

func main() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := newCommand(os.Stdout, os.Stderr).ExecuteContext(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "drain:", err)
		os.Exit(1)
	}
}

// settings are the flags.
type settings struct {
	scenarios, only []string
	repeat          int
	seed            uint64
	agent           string
	controller      string
	from            string
	out, chart      string
	readme          string
	audit           string
}

const long = `drain measures how long drains take, and what they ask of the API server. Three
contenders drain the same workload in turns, on a local cluster of its own:

  kubectl   kubectl drain, of the cluster's own version
  ideal     an evictor that watches the budgets and evicts the moment one allows it,
            one eviction at a time; it is part of the benchmark
  slipway   Slipway's agents, asked by a LifecycleEvent for each node

How long each pod takes to start and to end comes from the seed, and is the same for
all three. Times are wall times; requests, refusals and idle budgets are computed from
the API server's audit log. The same log is checked for promises that Slipway broke:
then this fails.

Scenarios:
`

func newCommand(out, progress io.Writer) *cobra.Command {
	var s settings
	command := &cobra.Command{
		Use:           "drain",
		Short:         "Measure drains: kubectl's, an ideal one, Slipway's",
		Long:          long + describe(scenario.All()),
		SilenceErrors: true, SilenceUsage: true,
		Example: `  # Everything, as make bench does; hours
  drain --out=bench/results.json --chart=docs/bench.svg --readme=README.md

  # Slipway against kubectl, twenty pods behind a budget, once
  drain --scenarios=b --only=kubectl,slipway --repeat=1

  # One scenario anew, beside those that are there
  drain --scenarios=i --repeat=3 --out=bench/results.json --chart=docs/bench.svg --readme=README.md

  # The table, chart and README again, from results that are there
  drain --from=bench/results.json --chart=docs/bench.svg --readme=README.md`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return run(command.Context(), s, out, progress)
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&s.scenarios, "scenarios", scenario.Keys(), "which scenarios")
	flags.StringSliceVar(&s.only, "only", contender.Names(), "which contenders")
	flags.IntVar(&s.repeat, "repeat", 5, "how many times each")
	flags.Uint64Var(&s.seed, "seed", 1, "where delays are drawn from")
	flags.StringVar(&s.agent, "agent", "bin/node-agent", "the agent's binary")
	flags.StringVar(&s.controller, "controller", "bin/controller", "the controller's binary, for scenarios with surge, fleets and central mode")
	flags.StringVar(&s.from, "from", "", "show the results in this file, and run nothing")
	flags.StringVar(&s.out, "out", "", "file to write the results into, as JSON, after each repetition; what it has of other scenarios stays")
	flags.StringVar(&s.chart, "chart", "", "file to write a chart into, as SVG")
	flags.StringVar(&s.readme, "readme", "", "file to put a table into, between its markers")
	flags.StringVar(&s.audit, "audit", "", "directory to keep the audit log of each drain in, a file for each")
	return command
}

func describe(scenarios []scenario.Scenario) string {
	var b strings.Builder
	for _, s := range scenarios {
		fmt.Fprintf(&b, "  %s  %s\n", s.Key, s.Title)
	}
	return b.String()
}

func run(ctx context.Context, s settings, out, progress io.Writer) error {
	if s.from != "" {
		results, err := report.Read(s.from)
		if err != nil {
			return err
		}
		return show(s, results, out, progress)
	}
	for _, name := range s.only {
		if !slices.Contains(contender.Names(), name) {
			return fmt.Errorf("--only: there is no contender %q; there are %s", name, strings.Join(contender.Names(), ", "))
		}
	}
	scenarios, err := scenario.Select(s.scenarios)
	if err != nil {
		return fmt.Errorf("--scenarios: %w", err)
	}
	results, err := benchmark(ctx, s, scenarios, progress)
	if len(results.Runs) == 0 {
		return err
	}
	err = errors.Join(err, show(s, results, out, progress))
	if broken := results.Broken(); len(broken) > 0 {
		err = errors.Join(err, fmt.Errorf("%d promises were broken", len(broken)))
	}
	return err
}
