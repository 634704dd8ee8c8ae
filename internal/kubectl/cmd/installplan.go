// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

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

// unchecked is a release of which nobody has asked what it would change.
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

func printPlan(out io.Writer, style ui.Style, p installPlan) error {
	printWrapped(out, style, p.headline)
	fmt.Fprintln(out)
	if err := style.Columns(out, []string{"WHAT", "KIND", "NAME"}, p.rows()); err != nil {
		return err
	}
	for _, i := range p.items {
		if i.Conflict != "" {
			fmt.Fprintln(out)
			printWrapped(out, style, fmt.Sprintf("conflict: %s: %s", release.RefOf(i.Object), i.Conflict))
		}
	}
	_, err := fmt.Fprintln(out)
	return err
}

func printWrapped(out io.Writer, style ui.Style, text string) {
	for _, line := range style.Wrap("", text) {
		fmt.Fprintln(out, line)
	}
}

// encodeObjects prints manifests, to apply.
func encodeObjects(out io.Writer, f format, objects []*unstructured.Unstructured) error {
	if f == yamlText {
		for _, o := range objects {
			fmt.Fprintln(out, "---")
			if err := encode(out, f, o.Object); err != nil {
				return err
			}
		}
		return nil
	}
	items := make([]any, len(objects))
	for i, o := range objects {
		items[i] = o.Object
	}
	return encode(out, f, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}
