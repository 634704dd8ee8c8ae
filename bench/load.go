// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/bench/internal/cost"
	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/bench/internal/soak"
)

func costCommand() *cobra.Command {
	var (
		pods        int
		rest        time.Duration
		bin, readme string
	)
	command := &cobra.Command{
		Use: "cost", Short: "Measure what an agent takes on its node", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			text, err := cost.Agent(command.Context(), bin, pods, rest, progress())
			if err != nil {
				return err
			}
			return report.Show(readme, "cost", text)
		},
	}
	flags := command.Flags()
	flags.IntVar(&pods, "pods", 250, "pods on the node")
	flags.DurationVar(&rest, "rest", time.Minute, "how long the agent is watched at rest")
	flags.StringVar(&bin, "bin", "bin", "the directory of Slipway's programs")
	flags.StringVar(&readme, "readme", "", "file to put the table into; otherwise it is printed")
	return command
}

func evictionsCommand() *cobra.Command {
	var (
		pods        int
		bin, readme string
	)
	command := &cobra.Command{
		Use: "evictions", Short: "Measure what many EvictionRequests at once take", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			text, err := cost.Evictions(command.Context(), bin, pods, progress())
			if err != nil {
				return err
			}
			return report.Show(readme, "evictions", text)
		},
	}
	flags := command.Flags()
	flags.IntVar(&pods, "pods", 2000, "pods, and EvictionRequests at once")
	flags.StringVar(&bin, "bin", "bin", "the directory of Slipway's programs")
	flags.StringVar(&readme, "readme", "", "file to put the table into; otherwise it is printed")
	return command
}

func scaleCommand() *cobra.Command {
	s := soak.Full()
	var (
		show                     bool
		out, readme, page, chart string
	)
	command := &cobra.Command{
		Use: "scale", Short: "Measure what a large cluster takes, in both modes", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) (err error) {
			var r soak.Results
			if show {
				r, err = report.Read[soak.Results](out)
			} else {
				r, err = soak.Scale(command.Context(), s, progress())
			}
			if err != nil {
				return err
			}
			if out != "" && !show {
				err = report.Write(out, r)
			}
			if page != "" {
				err = errors.Join(err, report.Show(page, "scale", r.Page()))
			}
			return errors.Join(err, report.WriteChart(chart, r.Figure), report.Show(readme, "soak", r.Short()), r.Held())
		},
	}
	flags := command.Flags()
	flags.IntVar(&s.Nodes, "nodes", s.Nodes, "simulated nodes in the end")
	flags.IntVar(&s.PodsPerNode, "pods-per-node", s.PodsPerNode, "pods on each of them")
	flags.IntSliceVar(&s.Sizes, "sizes", s.Sizes, "how many nodes there are before, while the controller is watched at rest")
	flags.IntSliceVar(&s.Steps, "steps", s.Steps, "how many nodes the controller drains at once, step by step")
	flags.IntSliceVar(&s.Agents, "agents", s.Agents, "how many agents are watched at rest in one process, step by step; 0 for none")
	flags.IntSliceVar(&s.AgentSteps, "agent-steps", s.AgentSteps, "how many of them drain their nodes at once, step by step; 0 for none")
	flags.IntVar(&s.Limit, "limit", s.Limit, "MiB that the controller may take")
	flags.DurationVar(&s.Rest, "rest", s.Rest, "how long the controller, and agents, are watched at rest")
	flags.StringVar(&s.Bin, "bin", s.Bin, "the directory of Slipway's programs")
	flags.BoolVar(&show, "show", false, "measure nothing: show the results in --out")
	flags.StringVar(&out, "out", "", "file for the results, as JSON")
	flags.StringVar(&readme, "readme", "", "file to put the short table into; otherwise it is printed")
	flags.StringVar(&page, "page", "", "file to put all tables into")
	flags.StringVar(&chart, "chart", "", "file for the plots, as SVG")
	return command
}

func mixedCommand() *cobra.Command {
	var (
		s         soak.MixedSettings
		out, page string
	)
	command := &cobra.Command{
		Use: "mixed", Short: "Measure what hours of drains, EvictionRequests and maintenances leave behind", Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			r, err := soak.Mixed(command.Context(), s, progress())
			if err != nil {
				return err
			}
			if out != "" {
				err = report.Write(out, r)
			}
			return errors.Join(err, report.Show(page, "mixed", r.Markdown()), r.Held())
		},
	}
	flags := command.Flags()
	flags.DurationVar(&s.For, "for", time.Hour, "how long the load goes on")
	flags.DurationVar(&s.Settle, "settle", 130*time.Second, "how long the controller is left alone before it is measured")
	flags.Uint64Var(&s.Seed, "seed", 1, "seed of what is random")
	flags.StringVar(&s.Bin, "bin", "bin", "the directory of Slipway's programs")
	flags.StringVar(&out, "out", "", "file for the results, as JSON")
	flags.StringVar(&page, "page", "", "file to put the table into; otherwise it is printed")
	return command
}
