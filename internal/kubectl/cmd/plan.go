// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// planFlags are those of drain that change what a drain does.
type planFlags struct {
	drainChoice
	nodes  nodeChoice
	output *outputFlag
	file   string
	// maintenance is the name of one that is there.
	maintenance string
	// wanted is the maintenance that the file asks for.
	wanted *slipwayv1alpha1.NodeMaintenance
}

func newPlan(t *tool) *cobra.Command {
	p := &planFlags{}
	command := &cobra.Command{
		Use:   "plan NODE... | -l SELECTOR | -f FILE | --maintenance NAME",
		Short: "Say what a drain or a maintenance would do, and change nothing",
		Long: `Says what a drain of the nodes, all at the same time, would do if it began now: which pods leave
in which order, which stay, which would block it and why, what would be lost, and where
replacements could run by what they require. What it did not look at, it says as well.

It takes the flags of 'kubectl slipway drain' that change what a drain does, or a file with a
LifecycleEvent or DrainParameters. It reads with your rights, needs nothing of Slipway on the
cluster, and changes nothing.

Of a maintenance, it says which nodes would be taken out together and in which order, what would
block where, which nodes would not begin and why, and which budgets allow no eviction however
long it is waited: of one that is there with --maintenance, of a file with a NodeMaintenance
with -f, and of the flags of 'kubectl slipway maintain' with its --plan. Nodes of a batch are
shown as if all of them took as long; in truth, the next one begins as soon as one may.

Exit codes: 0 nothing would block, 1 error, 2 wrong usage, 5 something would block.`,
		Example: `  kubectl slipway plan worker-1 --force --delete-emptydir-data

  # Both nodes at once, with every pod and where its replacement could run
  kubectl slipway plan worker-1 worker-2 -o wide

  # What this event would do
  kubectl slipway plan -f event.yaml

  # What is still to come of a maintenance, and what one would do that is not there yet
  kubectl slipway plan --maintenance kernel-6.12
  kubectl slipway plan -f maintenance.yaml
  kubectl slipway maintain kernel-6.12 -l pool=web --max-unavailable 2 --plan`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.completeNodes,
		RunE: func(command *cobra.Command, args []string) error {
			parameters, err := p.check(t, command, args)
			if err != nil {
				return err
			}
			if p.maintenance != "" || p.wanted != nil {
				return t.planRollout(command.Context(), p)
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
	f.StringVarP(&p.file, "filename", "f", "", "a LifecycleEvent or DrainParameters that says how to drain, or a NodeMaintenance, instead of the flags; -: standard input")
	f.StringVar(&p.maintenance, "maintenance", "", "the name of a NodeMaintenance: say what is still to come of it")
	p.output = addOutput(f, wide, jsonText, yamlText)
}

// check finds what is wrong with the flags, and gives the parameters of the drain.
func (p *planFlags) check(t *tool, command *cobra.Command, args []string) ([]byte, error) {
	if p.maintenance != "" {
		return nil, p.checkMaintenance(command, args)
	}
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
	for _, name := range howToDrain {
		if command.Flags().Changed(name) {
			return nil, usage("give --filename or --%s, not both: the file says how to drain", name)
		}
	}
	file, err := t.readPlanFile(p.file)
	if err != nil {
		return nil, usage("%w", err)
	}
	if p.wanted = file.maintenance; p.wanted != nil {
		return nil, p.noNodes(args, "the NodeMaintenance in --filename")
	}
	if len(args) == 0 && p.nodes.selector == "" && file.node != "" {
		args = []string{file.node}
	}
	return file.parameters, p.nodes.take(args)
}

// howToDrain are the flags that say how a drain of single nodes goes.
var howToDrain = []string{"force", "delete-emptydir-data", "grace-period", "pod-selector", "disable-eviction"}

// checkMaintenance is for a plan of a maintenance that is there: it says all by itself.
func (p *planFlags) checkMaintenance(command *cobra.Command, args []string) (err error) {
	if p.maintenance, err = cutMaintenance(p.maintenance); err != nil {
		return err
	}
	for _, name := range append([]string{"filename"}, howToDrain...) {
		if command.Flags().Changed(name) {
			return usage("give --maintenance or --%s, not both", name)
		}
	}
	return p.noNodes(args, "--maintenance")
}

func (p *planFlags) noNodes(args []string, of string) error {
	if len(args) > 0 || p.nodes.selector != "" {
		return usage("name no nodes: %s selects them", of)
	}
	return nil
}

func (t *tool) plan(ctx context.Context, p *planFlags, parameters []byte) error {
	request, err := drainparameters.Parse(parameters)
	if err != nil {
		return usage("%w", err)
	}
	c, err := t.reach()
	if err != nil {
		return err
	}
	c.home = apigroup.In(lifecyclev1alpha1.GroupSlipway) // nothing of it is read
	lister, err := c.client()
	if err != nil {
		return err
	}
	nodes, err := t.find(ctx, lister, &p.nodes)
	if err != nil || len(nodes) == 0 {
		return err
	}
	t.noteLeased(&p.nodes)
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
				n.Pods[i].Message = progress.Flag(lifecyclev1alpha1.Blocker{Reason: string(pod.Reason), Message: pod.Message})
			}
		}
	}
}

// printPlanned gives exit code 5 if something would block.
func (t *tool) printPlanned(f format, prediction plan.Prediction) error {
	var err error
	switch f {
	case people, wide:
		err = printPrediction(t.Out, ui.StyleOf(t.Out, os.Getenv), prediction, f == wide)
	default:
		err = encode(t.Out, f, prediction)
	}
	if err == nil && prediction.Blocks() {
		return exit{code: Blocked}
	}
	return err
}
