// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/drainrequest"
	"github.com/slipway-k8s/slipway/internal/home"
	"github.com/slipway-k8s/slipway/internal/plan"
	"github.com/slipway-k8s/slipway/internal/show"
	"github.com/slipway-k8s/slipway/internal/story"
	"github.com/slipway-k8s/slipway/internal/survey"
)

// planFlags are those of drain that change what a drain does.
type planFlags struct {
	drainChoice
	nodes  nodeChoice
	output *outputFlag
	file   string
}

func newPlan(t *tool) *cobra.Command {
	p := &planFlags{}
	command := &cobra.Command{
		Use:   "plan NODE... | -l SELECTOR | -f FILE",
		Short: "Say what a drain of nodes would do, and change nothing",
		Long: `Says what a drain of the nodes, all at the same time, would do if it began now: which pods leave
in which order, which stay, which would block it and why, what would be lost, and where
replacements could run by what they require. What it did not look at, it says as well.

It takes the flags of 'kubectl slipway drain' that change what a drain does, or a file with a
LifecycleEvent or DrainParameters. It reads with your rights, needs nothing of Slipway on the
cluster, and changes nothing.

Exit codes: 0 nothing would block, 1 error, 2 wrong usage, 5 something would block.`,
		Example: `  kubectl slipway plan worker-1 --force --delete-emptydir-data

  # Both nodes at once, with every pod and where its replacement could run
  kubectl slipway plan worker-1 worker-2 -o wide

  # What this event would do
  kubectl slipway plan -f event.yaml`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
		RunE: func(command *cobra.Command, args []string) error {
			parameters, err := p.check(t, command, args)
			if err != nil {
				return err
			}
			return t.plan(command.Context(), p, parameters)
		},
	}
	p.nodes.addSelector(command)
	p.addFlags(command)
	return command
}

func (p *planFlags) addFlags(command *cobra.Command) {
	f := command.Flags()
	p.drainChoice.addFlags(f)
	f.StringVarP(&p.file, "filename", "f", "", "a LifecycleEvent or DrainParameters that says how to drain, instead of the flags; -: standard input")
	p.output = addOutput(f, wide, jsonText, yamlText)
}

// check finds what is wrong with the flags, and gives the parameters of the drain.
func (p *planFlags) check(t *tool, command *cobra.Command, args []string) ([]byte, error) {
	if p.file == "" {
		if err := p.nodes.take(args); err != nil {
			return nil, err
		}
		event, err := p.Event("checked")
		if err != nil {
			return nil, usage("%w", err)
		}
		return event.Spec.Parameters.Raw, nil
	}
	for _, name := range []string{"force", "delete-emptydir-data", "grace-period", "pod-selector", "disable-eviction"} {
		if command.Flags().Changed(name) {
			return nil, usage("give --filename or --%s, not both: the file says how to drain", name)
		}
	}
	node, parameters, err := t.readPlanFile(p.file)
	if err != nil {
		return nil, usage("%w", err)
	}
	if len(args) == 0 && p.nodes.selector == "" && node != "" {
		args = []string{node}
	}
	return parameters, p.nodes.take(args)
}

func (t *tool) plan(ctx context.Context, p *planFlags, parameters []byte) error {
	request, err := drainrequest.Parse(parameters)
	if err != nil {
		return usage("%w", err)
	}
	c, err := t.reach()
	if err != nil {
		return err
	}
	c.home = home.In(lifecyclev1alpha1.GroupSlipway) // nothing of it is read
	lister, err := c.client()
	if err != nil {
		return err
	}
	nodes, err := t.find(ctx, lister, &p.nodes)
	if err != nil || len(nodes) == 0 {
		return err
	}
	reader, err := survey.New(c.config, c.http, c.home)
	if err != nil {
		return err
	}
	facts, err := reader.Plan(ctx, t.clock.Now(), nodes, request)
	if err != nil {
		return err
	}
	prediction, err := plan.Plan(facts)
	if err != nil {
		return fmt.Errorf("predict: %w", err)
	}
	if p.file == "" {
		nameFlags(prediction)
	}
	return t.printPlanned(p.output.format, prediction)
}

// nameFlags says of pods that the drain is asked to refuse which flag lets them go, as drain does.
func nameFlags(p plan.Prediction) {
	for _, n := range p.Nodes {
		for i, pod := range n.Pods {
			if pod.Blocks() {
				n.Pods[i].Message = story.Flag(lifecyclev1alpha1.Blocker{Reason: string(pod.Reason), Message: pod.Message})
			}
		}
	}
}

// printPlanned gives exit code 5 if something would block.
func (t *tool) printPlanned(f format, prediction plan.Prediction) error {
	var err error
	switch f {
	case people, wide:
		err = printPrediction(t.Out, show.StyleOf(t.Out, os.Getenv), prediction, f == wide)
	default:
		err = encode(t.Out, f, prediction)
	}
	if err == nil && prediction.Blocks() {
		return exit{code: Blocked}
	}
	return err
}
