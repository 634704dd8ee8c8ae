// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/internal/installer"
	"github.com/slipway-k8s/slipway/internal/release"
	"github.com/slipway-k8s/slipway/internal/show"
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
func (p installPlan) rows() (rows [][]show.Cell) {
	tones := map[release.Verdict]show.Tone{release.Create: show.Good, release.Change: show.Warn, release.Delete: show.Bad}
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
		rows = append(rows, []show.Cell{{Text: string(g.verdict), Tone: tones[g.verdict]}, {Text: g.kind}, {Text: strings.Join(names[g], ", ")}})
	}
	if unchanged > 0 {
		rows = append(rows, []show.Cell{{Text: string(release.Same), Tone: show.Faint}, {Text: show.Count(unchanged, "object", "objects")}, {}})
	}
	return rows
}

func printPlan(out io.Writer, style show.Style, p installPlan) error {
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

func printWrapped(out io.Writer, style show.Style, text string) {
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
