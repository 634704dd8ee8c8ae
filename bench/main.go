// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/bench/internal/cost"
	"github.com/slipway-k8s/slipway/bench/internal/drains"
	"github.com/slipway-k8s/slipway/bench/internal/matrix"
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
		Use: "bench", Short: "Measure Slipway on separate local clusters",
		SilenceErrors: true, SilenceUsage: true,
	}
	f := &files{}
	flags := command.PersistentFlags()
	flags.StringVar(&f.bin, "bin", "bin", "the directory of Slipway's programs")
	flags.StringVar(&f.out, "out", "", "file for the results, as JSON")
	flags.StringVar(&f.readme, "readme", "", "page to put the table into, between its markers; otherwise it is printed")
	flags.StringVar(&f.page, "page", "", "page to put all tables into, between their markers")
	command.AddCommand(f.drain(), f.compare(), f.cost(), f.evictions(), f.scale(), f.mixed(), f.flood(), f.matrix())
	return command.ExecuteContext(ctx)
}

// files has the file flags of all commands.
type files struct{ bin, out, chart, readme, page string }

// write writes results into --out.
func (f *files) write(results any) error {
	if f.out == "" {
		return nil
	}
	return report.Write(f.out, results)
}

// progress reports to standard error.
func progress() *testbed.Progress { return testbed.NewProgress(os.Stderr) }

// violated returns an error if Slipway violated its invariants.
func violated(violations []string) error {
	if len(violations) == 0 {
		return nil
	}
	return fmt.Errorf("%s\n%s", report.Kept(violations), strings.Join(violations, "\n"))
}

func titles() string {
	var b strings.Builder
	for _, s := range drains.All() {
		fmt.Fprintf(&b, "  %s  %s\n", s.Key, s.Title)
	}
	return b.String()
}

func (f *files) drain() *cobra.Command {
	var (
		o         drains.Options
		scenarios []string
		show      bool
	)
	command := &cobra.Command{
		Use:   "drain",
		Short: "Measure drains: kubectl's, an ideal evictor's, Slipway's",
		Long: `drain measures how long drains take, and what they request from the API server.
Three contenders drain the same workload in turns, on a local cluster of its own:

  kubectl   kubectl drain, of the cluster's own version
  ideal     an evictor that watches the PodDisruptionBudgets and evicts the moment one
            allows it, one eviction at a time; it is part of the benchmark
  slipway   Slipway's agents or controller, through LifecycleEvents or a NodeMaintenance

How long each pod takes to start and to terminate comes from the seed, and is the same
for all three. Times are wall times; requests and refused evictions are
computed from the API server's audit log. The command fails if that log shows that
Slipway violated an invariant. It writes --out after each drain; the results of other
scenarios in that file stay.

Scenarios:
` + titles(),
		Example: `  # Everything, as make bench does; hours
  bench drain --out=bench/results.json --chart=docs/bench.svg --readme=docs/performance.md

  # Slipway against kubectl, twenty pods behind a budget, once
  bench drain --scenarios=b --only=kubectl,slipway --repeat=1

  # One scenario anew, beside those that are there
  bench drain --scenarios=i --repeat=3 --out=bench/results.json --chart=docs/bench.svg --readme=docs/performance.md

  # The chart and README again, from results that are there
  bench drain --show --out=bench/results.json --chart=docs/bench.svg --readme=docs/performance.md`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			for _, name := range o.Contenders {
				if !slices.Contains(drains.Contenders(), name) {
					return fmt.Errorf("--only: contender %q does not exist; the contenders are %s", name, strings.Join(drains.Contenders(), ", "))
				}
			}
			if o.Scenarios, err = drains.Select(scenarios); err != nil {
				return fmt.Errorf("--scenarios: %w", err)
			}
			var results drains.Results
			if o.Bin, o.Out = f.bin, f.out; show {
				results, err = report.Read[drains.Results](f.out)
			} else {
				results, err = drains.Benchmark(command.Context(), o, progress())
			}
			if len(results.Runs) == 0 {
				return err
			}
			return errors.Join(err, report.WriteChart(f.chart, results.Chart()), report.Show(os.Stdout, f.readme, "bench", results.Markdown()), violated(results.Violations()))
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&scenarios, "scenarios", drains.Keys(), "which scenarios")
	flags.StringVar(&f.chart, "chart", "", "file for a chart, as SVG")
	flags.StringSliceVar(&o.Contenders, "only", drains.Contenders(), "which contenders")
	flags.IntVar(&o.Repeat, "repeat", 5, "how many times each")
	flags.Uint64Var(&o.Seed, "seed", 1, "where delays are drawn from")
	flags.BoolVar(&show, "show", false, "measure nothing: show the results in --out")
	return command
}

func (f *files) compare() *cobra.Command {
	var (
		o         drains.CompareOptions
		scenarios []string
	)
	command := &cobra.Command{
		Use:   "compare",
		Short: "Compare drains of the working tree with drains of another commit",
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
			return errors.Join(f.write(c), report.Show(os.Stdout, f.readme, "compare", c.Markdown()), violated(c.Violations()))
		},
	}
	flags := command.Flags()
	flags.StringVar(&o.Base, "base", "HEAD", "the commit to compare with")
	flags.StringSliceVar(&scenarios, "scenarios", []string{"b", "d", "e", "j"}, "which scenarios")
	flags.IntVar(&o.Repeat, "repeat", 10, "how many times each build drains each scenario")
	flags.Uint64Var(&o.Seed, "seed", 1, "where delays are drawn from")
	return command
}

func (f *files) cost() *cobra.Command {
	var (
		pods int
		rest time.Duration
	)
	command := &cobra.Command{
		Use: "cost", Short: "Measure what an agent takes on its node", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			text, err := cost.Agent(command.Context(), f.bin, pods, rest, progress())
			if err != nil {
				return err
			}
			return report.Show(os.Stdout, f.readme, "cost", text)
		},
	}
	command.Flags().IntVar(&pods, "pods", 250, "pods on the node")
	command.Flags().DurationVar(&rest, "rest", time.Minute, "how long the agent is watched at rest")
	return command
}

func (f *files) evictions() *cobra.Command {
	var pods int
	command := &cobra.Command{
		Use: "evictions", Short: "Measure what many EvictionRequests at once take", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			text, err := cost.Evictions(command.Context(), f.bin, pods, progress())
			if err != nil {
				return err
			}
			return report.Show(os.Stdout, f.readme, "evictions", text)
		},
	}
	command.Flags().IntVar(&pods, "pods", 2000, "pods, and EvictionRequests at once")
	return command
}

func (f *files) scale() *cobra.Command {
	s, show := soak.Full(), false
	command := &cobra.Command{
		Use: "scale", Short: "Measure what a large cluster takes, in both modes", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			var r soak.Results
			if s.Bin = f.bin; show {
				r, err = report.Read[soak.Results](f.out)
			} else if r, err = soak.Scale(command.Context(), s, progress()); err == nil {
				err = f.write(r)
			}
			if err != nil {
				return err
			}
			if f.page != "" {
				err = report.Show(os.Stdout, f.page, "scale", r.Page())
			}
			return errors.Join(err, report.Show(os.Stdout, f.readme, "soak", r.Short()), r.Held())
		},
	}
	flags := command.Flags()
	flags.IntVar(&s.Nodes, "nodes", s.Nodes, "simulated nodes in the end")
	flags.IntVar(&s.PodsPerNode, "pods-per-node", s.PodsPerNode, "pods on each of them")
	flags.IntSliceVar(&s.Sizes, "sizes", s.Sizes, "how many nodes there are before, while the controller is watched at rest")
	flags.IntSliceVar(&s.Steps, "steps", s.Steps, "how many nodes the controller drains at once, step by step")
	flags.IntSliceVar(&s.Agents, "agents", s.Agents, "how many agents are watched at rest in one process, step by step")
	flags.IntSliceVar(&s.AgentSteps, "agent-steps", s.AgentSteps, "how many of them drain their nodes at once, step by step")
	flags.IntVar(&s.Limit, "limit", s.Limit, "MiB that the controller may take")
	flags.DurationVar(&s.Rest, "rest", s.Rest, "how long the controller, and agents, are watched at rest")
	flags.BoolVar(&show, "show", false, "measure nothing: show the results in --out")
	return command
}

func (f *files) mixed() *cobra.Command {
	var s soak.MixedSettings
	command := &cobra.Command{
		Use: "mixed", Short: "Measure what hours of drains, EvictionRequests and maintenances leave behind", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			s.Bin = f.bin
			r, err := soak.Mixed(command.Context(), s, progress())
			if err != nil {
				return err
			}
			return errors.Join(f.write(r), report.Show(os.Stdout, f.page, "mixed", r.Markdown()), r.Held())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&s.For, "for", time.Hour, "duration of the load")
	flags.DurationVar(&s.Settle, "settle", 130*time.Second, "time without load before the controller is measured")
	flags.Uint64Var(&s.Seed, "seed", 1, "seed of all random choices")
	return command
}

func (f *files) flood() *cobra.Command {
	var s soak.FloodSettings
	command := &cobra.Command{
		Use: "flood", Short: "Measure what one party can do to the others with as many requests as it can send", Args: cobra.NoArgs,
		Long: `flood lets one party after the other send requests of the largest accepted size: the token of a
node's agent, the editor of a namespace, an operator, a daemon that may write the status of Nodes,
and a driver. Meanwhile it drains and returns other nodes, and watches the memory of 20 agents and 2
controllers. It compares the duration of a drain with that beside ConfigMaps of the same size, at
the same rate.

The command fails if a process on another node ends, grows by more than 32 MiB, or exceeds the
memory limit of the chart; or if a drain takes more than 1.25 times as long as beside ConfigMaps.`,
		Example: `  # Everything, as make acceptance does; 60 minutes
  bench flood --page=docs/security.md

  # One party, for a minute
  bench flood --for=1m --parties='an operator'`,
		RunE: func(command *cobra.Command, _ []string) error {
			s.Bin = f.bin
			r, err := soak.Flood(command.Context(), s, progress())
			if len(r.Parties) == 0 {
				return err
			}
			return errors.Join(err, f.write(r), report.Show(os.Stdout, f.page, "flood", r.Markdown()), r.Held())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&s.For, "for", 5*time.Minute, "duration of each flood")
	flags.StringSliceVar(&s.Parties, "parties", nil, "only these parties")
	return command
}

func (f *files) matrix() *cobra.Command {
	s := matrix.Settings{}
	command := &cobra.Command{
		Use: "matrix VERSION...", Short: "Test each capability on several versions of Kubernetes", Args: cobra.MinimumNArgs(1),
		Long: `matrix runs the tests of each capability on control planes of the given versions, and writes a table.
The launcher builds a missing control plane, which takes minutes.`,
		Example: `  # Everything, as make matrix does; an hour
  bench matrix --page=docs/install.md v1.34.4 v1.37.2

  # One capability on one version
  bench matrix --capability=leases v1.36.3`,
		RunE: func(command *cobra.Command, versions []string) (err error) {
			s.Versions = versions
			if s.Launcher, err = filepath.Abs(filepath.Join(f.bin, "localcluster")); err != nil {
				return err
			}
			text, err := matrix.Run(command.Context(), s, progress())
			if text == "" || s.Only != "" && f.page != "" {
				return err
			}
			return errors.Join(err, report.Show(os.Stdout, f.page, "matrix", text))
		},
	}
	flags := command.Flags()
	flags.StringVar(&s.Only, "capability", "", "only capabilities whose names contain this text; then the page stays")
	flags.StringVar(&s.Logs, "logs", ".cache/matrix", "directory for the output of the tests")
	return command
}
