// SPDX-License-Identifier: Apache-2.0

package install

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// installPlan is what an installation shows before it asks.
type installPlan struct {
	headline string
	items    []installer.Item
}

func planOf(headline string, items []installer.Item) installPlan { return installPlan{headline, items} }

// unchecked returns the items of a release without what it would change.
func unchecked(r release.Release) (items []installer.Item) {
	for _, o := range r.All() {
		items = append(items, installer.Item{Object: o, Verdict: "apply"})
	}
	return items
}

func (p installPlan) changes() bool {
	return slices.ContainsFunc(p.items, func(i installer.Item) bool { return i.Verdict != release.Same })
}

func (p installPlan) conflicts() bool {
	return slices.ContainsFunc(p.items, func(i installer.Item) bool { return i.Conflict != "" })
}

// rows has a row for each verdict and kind; what does not change is one row.
func (p installPlan) rows() (rows [][]ui.Cell) {
	tones := map[release.Verdict]ui.Tone{release.Create: ui.Good, release.Change: ui.Warn, release.Delete: ui.Bad}
	unchanged := 0
	type group struct {
		verdict release.Verdict
		kind    string
	}
	var order []group
	names := map[group][]string{}
	for _, i := range p.items {
		if i.Verdict == release.Same {
			unchanged++
			continue
		}
		g := group{i.Verdict, i.Object.GetKind()}
		if names[g] == nil {
			order = append(order, g)
		}
		names[g] = append(names[g], i.Object.GetName())
	}
	for _, g := range order {
		rows = append(rows, []ui.Cell{{Text: string(g.verdict), Tone: tones[g.verdict]}, {Text: g.kind}, {Text: strings.Join(names[g], ", ")}})
	}
	if unchanged > 0 {
		rows = append(rows, []ui.Cell{{Text: string(release.Same), Tone: ui.Faint}, {Text: ui.Count(unchanged, "object", "objects")}, {}})
	}
	return rows
}

func printPlan(out io.Writer, style ui.Style, plan installPlan) error {
	p := cli.Page{Style: style}
	p.Text(ui.Plain, "", plan.headline)
	p.Columns(append([][]ui.Cell{ui.Header("WHAT", "KIND", "NAME")}, plan.rows()...))
	for _, i := range plan.items {
		if i.Conflict != "" {
			p.Line("")
			p.Text(ui.Plain, "", fmt.Sprintf("conflict: %s: %s", release.RefOf(i.Object), i.Conflict))
		}
	}
	p.Line("")
	_, err := io.WriteString(out, p.String())
	return err
}

// showObjects prints manifests, to apply.
func showObjects(t *cli.Tool, o *cli.Output, objects []*unstructured.Unstructured) error {
	var items []any
	var names []string
	for _, object := range objects {
		items = append(items, object.Object)
		names = append(names, strings.ToLower(object.GetKind())+"/"+object.GetName())
	}
	if o.Format != cli.YAML {
		return t.Print(o, cli.View{Value: cli.List(items), Names: names})
	}
	for _, item := range items {
		fmt.Fprintln(t.Out, "---")
		if err := cli.Encode(t.Out, o.Format, item); err != nil {
			return err
		}
	}
	return nil
}
