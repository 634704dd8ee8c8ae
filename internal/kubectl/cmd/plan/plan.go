// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"

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
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// planFlags are the flags of plan, with the flags of drain that change a drain.
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
		Long: `Predicts what a drain of the nodes, all at the same time, would do if it began now: the order in
which pods leave, the pods that stay, the blockers and their reasons, lost data, and nodes for
replacements. It also lists what it did not check.

It takes the flags of 'kubectl slipway drain' that change a drain, or a file with a LifecycleEvent or
DrainParameters. It reads with your permissions, works without Slipway on the cluster, and changes
nothing.

For a maintenance (--maintenance, -f with a NodeMaintenance, or 'kubectl slipway maintain --plan'), it
predicts the batches of nodes, the blockers of each node, and the nodes that would not start. All nodes
of a batch take equally long in the prediction; in the cluster, the next node starts as soon as
possible.

The exit code is 6 if a pod or a node would block. For more, see
` + reasons.Docs + `docs/how-to/plan-a-drain.md`,
		Example: `  kubectl slipway plan worker-1 --force --delete-emptydir-data

  # Both nodes at once, with every pod and a node for its replacement
  kubectl slipway plan worker-1 worker-2 -o wide

  # A drain or a maintenance in a file, and the rest of an existing maintenance
  kubectl slipway plan -f event.yaml
  kubectl slipway plan --maintenance kernel-6.12`,
		Args:              cobra.ArbitraryArgs,
		ValidArgsFunction: t.CompleteNodes(0),
		RunE: func(command *cobra.Command, args []string) error {
			parameters, err := p.check(t, args)
			if err != nil {
				return err
			}
			if p.maintenance != "" || p.wanted != nil {
				return planMaintenance(command.Context(), t, p)
			}
			return planDrain(command.Context(), t, p, parameters)
		},
	}
	p.addFlags(command)
	return command
}

func (p *planFlags) addFlags(command *cobra.Command) {
	p.nodes.AddSelector(command)
	p.Choice.AddFlags(command)
	f := command.Flags()
	f.StringVarP(&p.file, "filename", "f", "", "a file with a LifecycleEvent, DrainParameters or a NodeMaintenance instead of the flags; -: standard input")
	f.StringVar(&p.maintenance, "maintenance", "", "the name of a NodeMaintenance, to predict the rest of it")
	p.output = cli.AddShow(f)
	for _, name := range []string{"force", "delete-emptydir-data", "grace-period", "pod-selector", "disable-eviction", "delete-after", "kill-after", "eviction-mode"} {
		command.MarkFlagsMutuallyExclusive("filename", "maintenance", name)
	}
}

// check finds mistakes in the command line, and returns the parameters of the drain.
func (p *planFlags) check(t *cli.Tool, args []string) (parameters []byte, err error) {
	switch {
	case p.maintenance != "":
		if p.maintenance, err = cli.CutMaintenance(p.maintenance); err != nil {
			return nil, err
		}
		return nil, p.noNodes(args, "--maintenance")
	case p.file == "":
		if err := p.nodes.Take(args); err != nil {
			return nil, err
		}
		event, err := p.Event("checked")
		if err != nil {
			return nil, cli.Usagef("%w", err)
		}
		return event.Spec.Parameters.Raw, nil
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
	c.Home = apigroup.In(lifecyclev1alpha1.GroupSlipway) // for the scheme only
	lister, err := c.Client()
	if err != nil {
		return err
	}
	nodes, err := t.Find(ctx, lister, &p.nodes)
	if err != nil || len(nodes) == 0 {
		return err
	}
	t.NoteLeased(&p.nodes)
	t.WarnOfMaintenances(&p.nodes)
	noteBudgets(ctx, t, nodes)
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

// noteBudgets names the nodes whose drains would wait for a NodeAvailabilityBudget. A plan does not need them: Slipway may not be
// installed, or the caller may not read budgets.
func noteBudgets(ctx context.Context, t *cli.Tool, nodes []string) {
	_, reader, err := t.Open(ctx)
	if err != nil {
		return
	}
	objections, err := survey.Reader{Client: reader}.BudgetObjections(ctx, nodes)
	if err != nil && !apimeta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
		t.Notef("The NodeAvailabilityBudgets are not checked: %v", err)
	}
	for _, node := range slices.Sorted(maps.Keys(objections)) {
		t.Notef("Warning: a drain of node %s would wait now: %s", node, ui.Clean(objections[node]))
	}
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

// showPlan prints a prediction. The exit code reports blockers.
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
	return showPlan(t, o, cli.View{Value: p, Names: names, Text: func(style ui.Style, wide bool) string { return predictionText(style, p, wide) }}, p.Blocks())
}
