// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cmd/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/survey"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// planFlags are the flags of drain that change what a drain does, and those of plan.
type planFlags struct {
	drain.Choice
	nodes  cli.Nodes
	output *cli.Output
	file   string
	// maintenance is the name of an existing one.
	maintenance string
	// wanted is the maintenance in the file.
	wanted *slipwayv1alpha1.NodeMaintenance
}

func newPlan(t *cli.Tool) *cobra.Command {
	p := &planFlags{}
	command := &cobra.Command{
		Use:   "plan NODE... | -l SELECTOR | -f FILE | --maintenance NAME",
		Short: "Predict what a drain or a maintenance would do, and change nothing",
		Long: `Predicts what a drain of the nodes, all at the same time, would do if it began now: which pods
leave in which order, which stay, which would block it and why, what would be lost, and where
replacements could run by their requirements. It says what it did not look at.

It takes the flags of 'kubectl slipway drain' that change what a drain does, or a file with a
LifecycleEvent or DrainParameters. It reads with your permissions, works without Slipway on the
cluster, and changes nothing.

For a maintenance, it predicts which nodes would be out together and in which order, what would
block where, which nodes would not start and why, and which PodDisruptionBudgets cannot allow an
eviction by themselves: for an existing one with --maintenance, for a file with a NodeMaintenance
with -f, and for the flags of 'kubectl slipway maintain' with its --plan. The nodes of a batch are
shown as if all took equally long; in the cluster, the next one starts as soon as one may.

The exit code is 6 if something would block. 'kubectl slipway --help' explains the others.`,
		Example: `  kubectl slipway plan worker-1 --force --delete-emptydir-data

  # Both nodes at once, with every pod and where its replacement could run
  kubectl slipway plan worker-1 worker-2 -o wide

  # What this event would do
  kubectl slipway plan -f event.yaml

  # The rest of a maintenance, and one that does not exist yet
  kubectl slipway plan --maintenance kernel-6.12
  kubectl slipway plan -f maintenance.yaml
  kubectl slipway maintain kernel-6.12 -l pool=web --max-unavailable 2 --plan`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.CompleteNodes(0),
		RunE: func(command *cobra.Command, args []string) error {
			parameters, err := p.check(t, command, args)
			if err != nil {
				return err
			}
			if p.maintenance != "" || p.wanted != nil {
				return planMaintenance(command.Context(), t, p)
			}
			return planDrain(command.Context(), t, p, parameters)
		},
	}
	p.nodes.AddSelector(command)
	p.addFlags(command)
	return command
}

func (p *planFlags) addFlags(command *cobra.Command) {
	f := command.Flags()
	p.Choice.AddFlags(f)
	f.StringVarP(&p.file, "filename", "f", "", "a file with a LifecycleEvent or DrainParameters, which say how to drain, or with a NodeMaintenance, instead of the flags; -: standard input")
	f.StringVar(&p.maintenance, "maintenance", "", "the name of a NodeMaintenance, to predict the rest of it")
	p.output = cli.AddShow(f)
}

// check finds what is wrong with the flags, and returns the parameters of the drain.
func (p *planFlags) check(t *cli.Tool, command *cobra.Command, args []string) ([]byte, error) {
	if p.maintenance != "" {
		return nil, p.checkMaintenance(command, args)
	}
	if p.file == "" {
		if err := p.nodes.Take(args); err != nil {
			return nil, err
		}
		event, err := p.Event("checked")
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		return event.Spec.Parameters.Raw, nil
	}
	for _, name := range howToDrain {
		if command.Flags().Changed(name) {
			return nil, cli.Usagef("give --filename or --%s, not both: the file says how to drain", name)
		}
	}
	file, err := readPlanFile(t, p.file)
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	if p.wanted = file.maintenance; p.wanted != nil {
		return nil, p.noNodes(args, "the NodeMaintenance in --filename")
	}
	if len(args) == 0 && p.nodes.Selector == "" && file.node != "" {
		args = []string{file.node}
	}
	return file.parameters, p.nodes.Take(args)
}

// howToDrain are the flags that say how to drain.
var howToDrain = []string{"force", "delete-emptydir-data", "grace-period", "pod-selector", "disable-eviction"}

// checkMaintenance is for the plan of an existing maintenance, which goes with no other flags.
func (p *planFlags) checkMaintenance(command *cobra.Command, args []string) (err error) {
	if p.maintenance, err = cli.CutMaintenance(p.maintenance); err != nil {
		return err
	}
	for _, name := range append([]string{"filename"}, howToDrain...) {
		if command.Flags().Changed(name) {
			return cli.Usagef("give --maintenance or --%s, not both", name)
		}
	}
	return p.noNodes(args, "--maintenance")
}

func (p *planFlags) noNodes(args []string, of string) error {
	if len(args) > 0 || p.nodes.Selector != "" {
		return cli.Usagef("name no nodes: %s selects them", of)
	}
	return nil
}

func planDrain(ctx context.Context, t *cli.Tool, p *planFlags, parameters []byte) error {
	request, err := drainparameters.Parse(parameters)
	if err != nil {
		return cli.Usagef("%w", err)
	}
	c, err := t.Reach()
	if err != nil {
		return err
	}
	c.Home = apigroup.In(lifecyclev1alpha1.GroupSlipway) // nothing of it is read
	lister, err := c.Client()
	if err != nil {
		return err
	}
	nodes, err := t.Find(ctx, lister, &p.nodes)
	if err != nil || len(nodes) == 0 {
		return err
	}
	t.NoteLeased(&p.nodes)
	facts, err := survey.Reader{Client: lister}.Plan(ctx, t.Clock.Now(), nodes, request)
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
	return showPrediction(t, p.output, prediction)
}

// nameFlags adds to pods that the drain refuses the flag that allows their eviction, as drain does.
func nameFlags(p plan.Prediction) {
	for _, n := range p.Nodes {
		for i, pod := range n.Pods {
			if pod.Blocks() {
				n.Pods[i].Message = progress.Flag(lifecyclev1alpha1.Blocker{Reason: string(pod.Reason), Message: pod.Message})
			}
		}
	}
}

// showPlan prints a prediction. If something would block, the exit code says so.
func showPlan(t *cli.Tool, o *cli.Output, v cli.View, blocks bool) error {
	err := t.Print(o, v)
	if err == nil && blocks {
		return cli.ExitError{Code: cli.WouldBlock}
	}
	return err
}

func showPrediction(t *cli.Tool, o *cli.Output, p plan.Prediction) error {
	var names []string
	for _, n := range p.Nodes {
		names = append(names, "node/"+n.Name)
	}
	return showPlan(t, o, cli.View{Value: p, Names: names, Human: func(out io.Writer, style ui.Style, wide bool) error {
		return printPrediction(out, style, p, wide)
	}}, p.Blocks())
}
