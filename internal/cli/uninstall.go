// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/config"
	"github.com/slipway-k8s/slipway/internal/installer"
	"github.com/slipway-k8s/slipway/internal/release"
	"github.com/slipway-k8s/slipway/internal/show"
)

// abandonAfter is how long events have to end, once they are canceled.
const abandonAfter = time.Minute

// uninstall is one.
type uninstall struct {
	*tool

	yes, force, keep bool
	timeout          time.Duration
}

func newUninstall(t *tool) *cobra.Command {
	u := uninstall{tool: t}
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Take Slipway off the cluster",
		Long: `Shows what is there of Slipway, asks, and takes it away: first the LifecycleEvents, which
agents and controller end while they still run; then these; then the annotations on nodes,
with the cordons that are ours; then the rest, with all DrainRules and LifecycleTransitions.

Where an event is in work, or a node is out of service, it refuses. With --force, events
are canceled, and nodes are made schedulable, but those that somebody else has cordoned.
Events that nobody ends within a minute, because agents or controller do not work, lose
their finalizers.`,
		Example: `  kubectl slipway uninstall

  # Keep the kinds, with all transitions and rules, for a later installation:
  kubectl slipway uninstall --keep-crds`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return u.run(command.Context()) },
	}
	flags := command.Flags()
	flags.BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&u.force, "force", false, "cancel the events that are in work, and return the nodes that are out of service")
	flags.BoolVar(&u.keep, "keep-crds", false, "keep the kinds, all LifecycleTransitions and DrainRules, and the namespace; events end all the same")
	flags.DurationVar(&u.timeout, "timeout", installTimeout, "how long all of it may take; 0: without limit")
	return command
}

func (u *uninstall) run(ctx context.Context) error {
	on, err := u.installer()
	if err != nil {
		return err
	}
	everything, err := release.Everything(config.Files)
	if err != nil {
		return err
	}
	missing, err := on.Missing(ctx, everything, "get", "list", "watch", "delete")
	if err != nil {
		return err
	}
	if err := installer.MissingError("uninstall", missing); err != nil {
		return err
	}
	left, err := on.Survey(ctx, everything)
	if err != nil {
		return err
	}
	left = kept(left, u.keep)
	if len(left.Objects) == 0 && len(left.Nodes) == 0 && len(left.Events) == 0 {
		fmt.Fprintln(u.Out, "Nothing of Slipway is on this cluster.")
		return nil
	}
	if err := printRemains(u.Out, show.StyleOf(u.Out, os.Getenv), left); err != nil {
		return err
	}
	if err := refuse(left, u.force); err != nil {
		return err
	}
	if err := u.confirm(u.yes, "Delete this?"); err != nil {
		return err
	}
	patient, cancel := within(ctx, u.timeout)
	defer cancel()
	err = on.Remove(patient, left, abandonAfter, func(what string) { fmt.Fprintln(u.Out, what) })
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return exit{Blocked, fmt.Errorf("after %s, some of it is left, and the same command goes on: %w", u.timeout, err)}
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(u.Out, "\n"+farewell(u.keep))
	return nil
}

// farewell says what stays.
func farewell(keep bool) string {
	const gone = "Slipway is gone. Conditions that it has set stay in the status of the nodes; they change nothing."
	if !keep {
		return gone
	}
	return gone + "\nIts kinds stay, too, with their transitions and rules: 'kubectl slipway install' makes use of them again, and 'kubectl slipway uninstall' takes them away."
}

// kept takes out what is to be kept, if anything is: the kinds with transitions and rules,
// and the namespace, which has rules in it. Events end: nobody would look after them.
func kept(left installer.Remains, keep bool) installer.Remains {
	if !keep {
		return left
	}
	left.Rules, left.Transitions = 0, 0
	left.Objects = slices.DeleteFunc(slices.Clone(left.Objects), func(o *unstructured.Unstructured) bool {
		return slices.Contains([]string{"CustomResourceDefinition", "Namespace", "LifecycleTransition"}, o.GetKind())
	})
	return left
}

// refuse says what is in work, unless that is to be ended.
func refuse(left installer.Remains, force bool) error {
	var busy []string
	for _, e := range left.Events {
		if e.InWork {
			busy = append(busy, "LifecycleEvent "+e.Name+" of node "+e.Node+" is in work")
		}
	}
	for _, n := range left.Nodes {
		if n.Cordoned {
			busy = append(busy, "node "+n.Name+" is out of service")
		}
	}
	if len(busy) == 0 || force {
		return nil
	}
	return fmt.Errorf("nothing was deleted: %s. Let it end, or return it ('kubectl slipway uncordon NODE'); "+
		"--force cancels events and makes nodes schedulable", strings.Join(busy, "; "))
}

// printRemains says what would go.
func printRemains(out io.Writer, style show.Style, left installer.Remains) error {
	rows := remainingWork(left)
	var order []string
	names := map[string][]string{}
	for _, o := range left.Objects {
		kind := o.GetKind()
		if names[kind] == nil {
			order = append(order, kind)
		}
		names[kind] = append(names[kind], o.GetName())
	}
	for _, kind := range order {
		rows = append(rows, []show.Cell{{Text: "delete", Tone: show.Warn}, {Text: kind}, {Text: strings.Join(names[kind], ", ")}})
	}
	if left.Rules > 0 {
		rows = append(rows, []show.Cell{{Text: "delete", Tone: show.Bad}, {Text: "DrainRule"}, {Text: "all " + fmt.Sprint(left.Rules) + ", with their kind"}})
	}
	if left.Transitions > 0 {
		rows = append(rows, []show.Cell{{Text: "delete", Tone: show.Bad}, {Text: "LifecycleTransition"}, {Text: "all " + fmt.Sprint(left.Transitions) + " of other drivers, with their kind"}})
	}
	if err := style.Columns(out, []string{"WHAT", "KIND", "NAME"}, rows); err != nil {
		return err
	}
	_, err := fmt.Fprintln(out)
	return err
}

// remainingWork are the rows about events and nodes.
func remainingWork(left installer.Remains) (rows [][]show.Cell) {
	for _, e := range left.Events {
		verb := show.Cell{Text: "delete"}
		if e.InWork {
			verb = show.Cell{Text: "cancel", Tone: show.Bad}
		}
		rows = append(rows, []show.Cell{verb, {Text: "LifecycleEvent"}, {Text: e.Name + " of node " + e.Node}})
	}
	for _, n := range left.Nodes {
		row := []show.Cell{{Text: "unmark"}, {Text: "Node"}, {Text: n.Name + ": our annotations"}}
		switch {
		case n.Cordoned && n.Others:
			row = []show.Cell{{Text: "unmark"}, {Text: "Node"}, {Text: n.Name + ": it stays cordoned, by somebody else"}}
		case n.Cordoned:
			row = []show.Cell{{Text: "return", Tone: show.Bad}, {Text: "Node"}, {Text: n.Name + ": it takes pods again"}}
		}
		rows = append(rows, row)
	}
	return rows
}
