// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/internal/drains"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/soak"
	"github.com/slipway-k8s/slipway/bench/internal/testbed"
)

func main() {
	log.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	if soak.AreAgents() {
		return soak.RunAgents(ctx, os.Stdin)
	}
	command := &cobra.Command{
		Use: "bench", Short: "Measure Slipway on local clusters of its own",
		SilenceErrors: true, SilenceUsage: true,
	}
	command.AddCommand(drainCommand(), compareCommand(), costCommand(), evictionsCommand(), scaleCommand(), mixedCommand())
	return command.ExecuteContext(ctx)
}

// progress reports to standard error.
func progress() *testbed.Progress { return testbed.NewProgress(os.Stderr) }

// violated returns an error if Slipway violated its invariants.
func violated(violations []string) error {
	if len(violations) == 0 {
		return nil
	}
	return fmt.Errorf("the audit log shows %d violations:\n%s", len(violations), strings.Join(violations, "\n"))
}

func titles() string {
	var b strings.Builder
	for _, s := range drains.All() {
		fmt.Fprintf(&b, "  %s  %s\n", s.Key, s.Title)
	}
	return b.String()
}

func drainCommand() *cobra.Command {
	var (
		o             drains.Options
		scenarios     []string
		show          bool
		chart, readme string
	)
	command := &cobra.Command{
		Use:   "drain",
		Short: "Measure drains: kubectl's, an ideal evictor's, Slipway's",
		Long: `drain measures how long drains take, and what they request from the API server.
Three contenders drain the same workload in turns, on a local cluster of its own:

  kubectl   kubectl drain, of the cluster's own version
  ideal     an evictor that watches the PodDisruptionBudgets and evicts the moment one
            allows it, one eviction at a time; it is part of the benchmark
  slipway   Slipway's agents or controller, asked by LifecycleEvents or a NodeMaintenance

How long each pod takes to start and to terminate comes from the seed, and is the same
for all three. Times are wall times; requests, refused evictions and idle budgets are
computed from the API server's audit log. The command fails if that log shows that
Slipway violated an invariant.

Scenarios:
` + titles(),
		Example: `  # Everything, as make bench does; hours
  bench drain --out=bench/results.json --chart=docs/bench.svg --readme=README.md

  # Slipway against kubectl, twenty pods behind a budget, once
  bench drain --scenarios=b --only=kubectl,slipway --repeat=1

  # One scenario anew, beside those that are there
  bench drain --scenarios=i --repeat=3 --out=bench/results.json --chart=docs/bench.svg --readme=README.md

  # The chart and README again, from results that are there
  bench drain --show --out=bench/results.json --chart=docs/bench.svg --readme=README.md`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			var results drains.Results
			if show {
				if results, err = report.Read[drains.Results](o.Out); err != nil {
					return err
				}
				return showDrains(results, chart, readme)
			}
			for _, name := range o.Contenders {
				if !slices.Contains(drains.Contenders(), name) {
					return fmt.Errorf("--only: contender %q does not exist; the contenders are %s", name, strings.Join(drains.Contenders(), ", "))
				}
			}
			if o.Scenarios, err = drains.Select(scenarios); err != nil {
				return fmt.Errorf("--scenarios: %w", err)
			}
			results, err = drains.Benchmark(command.Context(), o, progress())
			if len(results.Runs) == 0 {
				return err
			}
			return errors.Join(err, showDrains(results, chart, readme), violated(results.Violations()))
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&scenarios, "scenarios", drains.Keys(), "which scenarios")
	flags.StringSliceVar(&o.Contenders, "only", drains.Contenders(), "which contenders")
	flags.IntVar(&o.Repeat, "repeat", 5, "how many times each")
	flags.Uint64Var(&o.Seed, "seed", 1, "where delays are drawn from")
	flags.StringVar(&o.Bin, "bin", "bin", "the directory of Slipway's programs")
	flags.BoolVar(&show, "show", false, "measure nothing: show the results in --out")
	flags.StringVar(&o.Out, "out", "", "file to write the results into, as JSON, after each drain; those of other scenarios stay")
	flags.StringVar(&chart, "chart", "", "file to write a chart into, as SVG")
	flags.StringVar(&readme, "readme", "", "file to put the table into, between its markers; otherwise it is printed")
	return command
}

func showDrains(results drains.Results, chart, readme string) error {
	return errors.Join(
		report.WriteChart(chart, results.Chart),
		report.Show(readme, "bench", results.Markdown()),
	)
}

func compareCommand() *cobra.Command {
	var (
		o         drains.CompareOptions
		scenarios []string
		out       string
	)
	command := &cobra.Command{
		Use:   "compare",
		Short: "Compare the drains of the working tree with those of another commit",
		Long: `compare builds a commit, from a temporary git worktree below .cache, and the working
tree, and lets them drain the same workloads in turns on one cluster: A B B A A B and
so on. Each drain has programs of its own that have drained empty nodes before, and the
manifests of its build.

For each scenario it prints the ratio of the durations, new to base: the geometric mean
over pairs of drains that had the same workload, with its 95 % confidence interval
(Student's t interval of the mean of the logarithms). An interval that includes 1 shows
no difference.

Scenarios:
` + titles(),
		Example: `  bench compare --base=main --scenarios=b,d,e,j`,
		Args:    cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			if o.Scenarios, err = drains.Select(scenarios); err != nil {
				return fmt.Errorf("--scenarios: %w", err)
			}
			c, err := drains.Compare(command.Context(), o, progress())
			if err != nil {
				return err
			}
			if out != "" {
				err = report.Write(out, c)
			}
			return errors.Join(err, report.Show("", "", c.Markdown()), violated(c.Violations()))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Base, "base", "HEAD", "the commit to compare with")
	flags.StringSliceVar(&scenarios, "scenarios", []string{"b", "d", "e", "j"}, "which scenarios")
	flags.IntVar(&o.Repeat, "repeat", 10, "how many times each build drains each scenario")
	flags.Uint64Var(&o.Seed, "seed", 1, "where delays are drawn from")
	flags.StringVar(&out, "out", "", "file to write the results into, as JSON")
	return command
}
