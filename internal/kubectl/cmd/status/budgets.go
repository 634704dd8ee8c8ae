// SPDX-License-Identifier: Apache-2.0

package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/reasons"
)

// budgetList is the output of budgets.
type budgetList struct {
	Budgets []budgetRow `json:"budgets"`
}

// budgetRow is a NodeAvailabilityBudget.
type budgetRow struct {
	Name string `json:"name"`
	// Limit is maxUnavailable or minAvailable, as written.
	Limit string `json:"limit"`
	// Per is the topologyKey.
	Per         string `json:"per,omitempty"`
	Nodes       int32  `json:"nodes"`
	Unavailable int32  `json:"unavailable"`
	Allowed     int32  `json:"allowed"`
	// Out are nodes out of service, with the cause.
	Out []slipwayv1alpha1.UnavailableNode `json:"out,omitempty"`
	// Waiting are the LifecycleEvents that wait for this budget.
	Waiting []waitingEvent `json:"waiting,omitempty"`
	// Message is the error for which the budget has no counts.
	Message string `json:"message,omitempty"`
}

// waitingEvent is a LifecycleEvent that waits for a budget.
type waitingEvent struct {
	Event       string `json:"event"`
	Node        string `json:"node"`
	RequestedBy string `json:"requestedBy,omitempty"`
}

func newBudgets(t *cli.Tool) *cobra.Command {
	var output *cli.Output
	command := &cobra.Command{
		Use:   "budgets",
		Short: "Show how many more nodes may leave service, the nodes out of service, and the drains that wait",
		Long: `Shows for each NodeAvailabilityBudget its limit, the nodes that are out of service, with the cause, and the
LifecycleEvents that wait for it. Slipway's controller counts. For more, see
` + reasons.Docs + `docs/availability-budgets.md`,
		Example: `  kubectl slipway budgets
  kubectl slipway budgets -o json`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			list, err := readBudgets(command.Context(), t)
			if err != nil {
				return err
			}
			return t.Print(output, cli.View{Value: list, Names: list.names(), Text: list.text})
		},
	}
	output = cli.AddShow(command.Flags())
	return command
}

func readBudgets(ctx context.Context, t *cli.Tool) (budgetList, error) {
	_, reader, err := t.Open(ctx)
	if err != nil {
		return budgetList{}, err
	}
	return listBudgets(ctx, reader)
}

func listBudgets(ctx context.Context, reader client.Reader) (budgetList, error) {
	var budgets slipwayv1alpha1.NodeAvailabilityBudgetList
	if err := reader.List(ctx, &budgets); err != nil {
		return budgetList{}, fmt.Errorf("list NodeAvailabilityBudgets: %w", err)
	}
	var events lifecyclev1alpha1.LifecycleEventList
	if err := reader.List(ctx, &events); err != nil {
		return budgetList{}, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	return budgetRows(cli.Pointers(budgets.Items), cli.Pointers(events.Items)), nil
}

// budgetRows returns the rows by name.
func budgetRows(budgets []*slipwayv1alpha1.NodeAvailabilityBudget, events []*lifecyclev1alpha1.LifecycleEvent) budgetList {
	list := budgetList{Budgets: []budgetRow{}}
	for _, b := range budgets {
		row := budgetRow{
			Name: b.Name, Per: b.Spec.TopologyKey, Nodes: b.Status.Nodes, Unavailable: b.Status.Unavailable, Allowed: b.Status.DisruptionsAllowed,
			Out: b.Status.UnavailableNodes, Message: b.Status.Message,
		}
		switch {
		case b.Spec.MaxUnavailable != nil:
			row.Limit = "max " + b.Spec.MaxUnavailable.String() + " out"
		case b.Spec.MinAvailable != nil:
			row.Limit = "min " + b.Spec.MinAvailable.String() + " in service"
		}
		for _, e := range lifecycleevent.OldestFirst(events) {
			if waitsForBudget(e, b.Name) {
				row.Waiting = append(row.Waiting, waitingEvent{Event: e.Name, Node: e.Spec.BindingNode, RequestedBy: e.Spec.RequestedBy})
			}
		}
		list.Budgets = append(list.Budgets, row)
	}
	slices.SortFunc(list.Budgets, func(a, b budgetRow) int { return cmp.Compare(a.Name, b.Name) })
	return list
}

// waitsForBudget returns whether an event waits at its gate for a budget, which the message names first.
func waitsForBudget(e *lifecyclev1alpha1.LifecycleEvent, budget string) bool {
	c := lifecycleevent.Condition(e, lifecyclev1alpha1.ConditionGuardsPassed)
	return c != nil && c.Status == metav1.ConditionFalse && c.Reason == lifecyclev1alpha1.ReasonNodeAvailabilityBudget &&
		oversight.Guarded(e) && strings.HasPrefix(c.Message, fmt.Sprintf("NodeAvailabilityBudget %q", budget))
}

// names names the budgets of the list.
func (l budgetList) names() (names []string) {
	for _, row := range l.Budgets {
		names = append(names, "nodeavailabilitybudget/"+row.Name)
	}
	return names
}

func (l budgetList) text(style ui.Style, _ bool) string {
	if len(l.Budgets) == 0 {
		return "There are no NodeAvailabilityBudgets: no budget limits the nodes out of service.\n"
	}
	rows := [][]ui.Cell{ui.Header("NAME", "LIMIT", "NODES", "OUT", "ALLOWED")}
	for _, row := range l.Budgets {
		limit, allowed := row.Limit, ui.Cell{Text: strconv.Itoa(int(row.Allowed)), Tone: ui.Good}
		if row.Per != "" {
			limit += " per " + row.Per
		}
		if row.Allowed == 0 {
			allowed.Tone = ui.Warn
		}
		rows = append(rows, []ui.Cell{
			{Text: row.Name}, {Text: limit}, {Text: strconv.Itoa(int(row.Nodes))}, {Text: strconv.Itoa(int(row.Unavailable))}, allowed,
		})
	}
	p := cli.Page{Style: style}
	p.Add(style.Columns(rows))
	for _, row := range l.Budgets {
		row.details(&p)
	}
	return p.String()
}

// details adds the error, the nodes out of service, and the waiting events.
func (row budgetRow) details(p *cli.Page) {
	if row.Message == "" && len(row.Out)+len(row.Waiting) == 0 {
		return
	}
	p.Section(row.Name)
	if row.Message != "" {
		p.Text(ui.Bad, "   - ", "holds back all drains of its nodes: "+ui.Clean(row.Message))
	}
	for _, n := range row.Out {
		name := n.Name
		if n.Group != "" {
			name += " (" + n.Group + ")"
		}
		p.Text(ui.Plain, "   - ", ui.Clean(fmt.Sprintf("out: %s: %s", name, n.Reason)))
	}
	for _, w := range row.Waiting {
		text := fmt.Sprintf("waiting: %s, for LifecycleEvent %s", w.Node, w.Event)
		if w.RequestedBy != "" {
			text += ", requested by " + w.RequestedBy
		}
		p.Text(ui.Warn, "   - ", ui.Clean(text))
	}
}
