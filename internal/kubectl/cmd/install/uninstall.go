// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/config"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// abandonAfter is how long maintenances have to end, and then events, once they are canceled.
const abandonAfter = time.Minute

// uninstall is one.
type uninstall struct {
	*cli.Tool

	yes, force, keep bool
	timeout          time.Duration
}

func newUninstall(t *cli.Tool) *cobra.Command {
	u := uninstall{Tool: t}
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Take Slipway off the cluster",
		Long: `Shows what is there of Slipway, asks, and takes it away: first the NodeMaintenances and the
LifecycleEvents, which agents and controller end while they still run; then these; then the
annotations on nodes, with the cordons that are ours; then the rest, with all DrainRules and
LifecycleTransitions.

Where a maintenance or an event is in work, or has a third-party finalizer, or a node is out of
service, or static pods of it are away, it refuses. With --force, maintenances end, events are
canceled, and nodes are made schedulable, except those that another party has cordoned. What does
not end within a minute, because agents or controller do not work, or because of third-party
finalizers, loses the finalizers that were shown. Static pods that are away are put back before
slipway-host goes; where that takes more than a minute, the command and the Node say so.

The namespace stays where something is in it that is not Slipway's; that is shown.`,
		Example: `  kubectl slipway uninstall

  # Keep the kinds, with all transitions and rules, for a later installation:
  kubectl slipway uninstall --keep-crds`,
		Args: cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error { return u.run(command.Context()) },
	}
	flags := command.Flags()
	flags.BoolVarP(&u.yes, "yes", "y", false, "do not ask")
	flags.BoolVar(&u.force, "force", false, "end the maintenances and cancel the events that are in work, remove third-party finalizers, and return the nodes that are out of service")
	flags.BoolVar(&u.keep, "keep-crds", false, "keep the kinds, all LifecycleTransitions and DrainRules, and the namespace; maintenances and events go all the same")
	flags.DurationVar(&u.timeout, "timeout", installTimeout, "how long all of it may take; 0: without limit")
	return command
}

func (u *uninstall) run(ctx context.Context) error {
	style := u.Outlast()
	on, err := openInstaller(u.Tool)
	if err != nil {
		return err
	}
	everything, err := release.Everything(config.Files)
	if err != nil {
		return err
	}
	all, err := u.survey(ctx, on, everything)
	if err != nil {
		return err
	}
	left := kept(all, u.keep)
	if len(left.Objects) == 0 && len(left.Nodes) == 0 && len(left.Maintenances) == 0 && len(left.Events) == 0 {
		fmt.Fprintln(u.Out, nothing(all))
		return nil
	}
	if err := printRemains(u.Out, style, left); err != nil {
		return err
	}
	if err := refuse(left, u.force); err != nil {
		return err
	}
	if err := u.Confirm(u.yes, "Delete this?"); err != nil {
		return err
	}
	patient, cancel := cli.Within(ctx, u.timeout)
	defer cancel()
	err = on.Remove(patient, left, abandonAfter, func(what string) { u.Sayf("%s", what+"\n") })
	if err != nil && patient.Err() != nil && ctx.Err() == nil {
		return cli.Exitf(cli.TimedOut, "after %s, some of it is left, and the same command goes on: %w", u.timeout, err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintln(u.Out, "\n"+farewell(left, u.keep))
	return nil
}

// survey finds what is there, once it is clear that the caller may take all of it away, and
// that no other installation needs it.
func (u *uninstall) survey(ctx context.Context, on *installer.Cluster, everything []*unstructured.Unstructured) (installer.Remains, error) {
	missing, err := on.MissingForRemoval(ctx, everything)
	if err != nil {
		return installer.Remains{}, err
	}
	if err := installer.MissingError("uninstall", missing); err != nil {
		return installer.Remains{}, err
	}
	found, err := on.Installed(ctx)
	if err != nil {
		return installer.Remains{}, err
	}
	for _, there := range found {
		if err := there.Elsewhere(); err != nil {
			return installer.Remains{}, err
		}
	}
	return on.Survey(ctx, everything)
}

// nothing says that there is nothing to take away, and what of Slipway is there all the
// same, because it is kept or is not Slipway's.
func nothing(all installer.Remains) string {
	var there []string
	for _, o := range all.Objects {
		name := release.RefOf(o).String()
		if o.GetDeletionTimestamp() != nil {
			name += " (it is being deleted)"
		}
		there = append(there, name)
	}
	switch {
	case len(there) > 0:
		return "There is nothing to take away. With --keep-crds, this stays: " + strings.Join(there, ", ") + "."
	case len(all.Foreign) > 0:
		return "Nothing of Slipway is on this cluster. " + spared(all)
	default:
		return "Nothing of Slipway is on this cluster."
	}
}

// spared says why the namespace stays.
func spared(left installer.Remains) string {
	return "Namespace " + release.Namespace + " stays, because this in it is not Slipway's: " + strings.Join(left.Foreign, ", ") + "."
}

// farewell says what stays.
func farewell(left installer.Remains, keep bool) string {
	const gone = "Slipway is gone. Conditions that it has set stay in the status of the nodes; they change nothing."
	if !keep && len(left.Foreign) > 0 {
		return gone + "\n" + spared(left)
	}
	if !keep {
		return gone
	}
	return gone + "\nIts kinds stay, too, with their transitions and rules: 'kubectl slipway install' makes use of them again, and 'kubectl slipway uninstall' takes them away."
}

// kept takes out what is to be kept, if anything is: the kinds with transitions and rules,
// and the namespace, which has rules in it. Maintenances and events go: nothing would act on them.
func kept(left installer.Remains, keep bool) installer.Remains {
	if !keep {
		return left
	}
	left.Rules, left.Transitions, left.Foreign = 0, 0, nil
	left.Objects = slices.DeleteFunc(slices.Clone(left.Objects), func(o *unstructured.Unstructured) bool {
		return slices.Contains([]string{"CustomResourceDefinition", "Namespace", "LifecycleTransition"}, o.GetKind())
	})
	return left
}

// refuse says what is in work, unless that is to be ended.
func refuse(left installer.Remains, force bool) error {
	var busy []string
	for _, m := range left.Maintenances {
		if m.InWork {
			busy = append(busy, "NodeMaintenance "+m.Name+" is in work")
		}
		if len(m.Holders) > 0 {
			busy = append(busy, "NodeMaintenance "+m.Name+" is held by "+strings.Join(m.Holders, ", "))
		}
	}
	for _, e := range left.Events {
		if e.InWork {
			busy = append(busy, "LifecycleEvent "+e.Name+" of node "+e.Node+" is in work")
		}
		if len(e.Holders) > 0 {
			busy = append(busy, "LifecycleEvent "+e.Name+" of node "+e.Node+" is held by "+strings.Join(e.Holders, ", "))
		}
	}
	for _, n := range left.Nodes {
		if n.Cordoned {
			busy = append(busy, "node "+n.Name+" is out of service")
		}
		if len(n.Away) > 0 {
			busy = append(busy, "static pods of node "+n.Name+" are away: "+strings.Join(n.Away, ", "))
		}
	}
	if len(busy) == 0 || force {
		return nil
	}
	return fmt.Errorf("nothing was deleted: %s. Let it end, or return it ('kubectl slipway uncordon NODE', 'kubectl slipway maintenance abort NAME'); "+
		"--force ends maintenances, cancels events, removes third-party finalizers, makes nodes schedulable, and has static pods put back", strings.Join(busy, "; "))
}

// printRemains says what would go.
func printRemains(out io.Writer, style ui.Style, left installer.Remains) error {
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
		rows = append(rows, []ui.Cell{{Text: "delete", Tone: ui.Warn}, {Text: kind}, {Text: strings.Join(names[kind], ", ")}})
	}
	if left.Rules > 0 {
		rows = append(rows, []ui.Cell{{Text: "delete", Tone: ui.Bad}, {Text: "DrainRule"}, {Text: "all " + fmt.Sprint(left.Rules) + ", with their kind"}})
	}
	if left.Transitions > 0 {
		rows = append(rows, []ui.Cell{{Text: "delete", Tone: ui.Bad}, {Text: "LifecycleTransition"}, {Text: "all " + fmt.Sprint(left.Transitions) + " of other drivers, with their kind"}})
	}
	p := cli.Page{Style: style}
	p.Add(style.Columns(append([][]ui.Cell{ui.Header("WHAT", "KIND", "NAME")}, rows...)))
	if len(left.Foreign) > 0 {
		p.Line("")
		p.Text(ui.Plain, "", spared(left))
	}
	p.Line("")
	_, err := io.WriteString(out, p.String())
	return err
}

// remainingWork are the rows about maintenances, events and nodes.
func remainingWork(left installer.Remains) (rows [][]ui.Cell) {
	end := func(kind, name, verb string, inWork bool, holders []string) {
		what := ui.Cell{Text: "delete"}
		if inWork {
			what = ui.Cell{Text: verb, Tone: ui.Bad}
		}
		if len(holders) > 0 {
			what.Tone, name = ui.Bad, name+", with third-party finalizers: "+strings.Join(holders, ", ")
		}
		rows = append(rows, []ui.Cell{what, {Text: kind}, {Text: name}})
	}
	for _, m := range left.Maintenances {
		end("NodeMaintenance", m.Name, "end", m.InWork, m.Holders)
	}
	for _, e := range left.Events {
		end("LifecycleEvent", e.Name+" of node "+e.Node, "cancel", e.InWork, e.Holders)
	}
	for _, n := range left.Nodes {
		if len(n.Away) > 0 {
			rows = append(rows, []ui.Cell{{Text: "return", Tone: ui.Bad}, {Text: "Node"}, {Text: n.Name + ": its static pods come back: " + strings.Join(n.Away, ", ")}})
		}
		row := []ui.Cell{{Text: "unmark"}, {Text: "Node"}, {Text: n.Name + ": our annotations"}}
		switch {
		case n.Cordoned && n.Others:
			row = []ui.Cell{{Text: "unmark"}, {Text: "Node"}, {Text: n.Name + ": it stays cordoned by another party"}}
		case n.Cordoned:
			row = []ui.Cell{{Text: "return", Tone: ui.Bad}, {Text: "Node"}, {Text: n.Name + ": it takes pods again"}}
		}
		rows = append(rows, row)
	}
	return rows
}
