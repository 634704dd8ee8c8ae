// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// series are the labels of all series that there can be, by name.
func series() map[string][]string {
	found := map[string][]string{}
	for _, m := range telemetry.Metrics() {
		if m.Type != telemetry.Histogram {
			found[m.Name] = m.Labels
			continue
		}
		found[m.Name+"_bucket"] = append(slices.Clone(m.Labels), "le")
		found[m.Name+"_sum"], found[m.Name+"_count"] = m.Labels, m.Labels
	}
	return found
}

// wrongNames are metrics and labels in an expression that there are not. A label that it
// groups or joins by must be one of each metric beneath.
func wrongNames(expr parser.Expr, known map[string][]string) (wrong []string) {
	must := func(label, metric string) {
		if labelsOf, has := known[metric]; has && !slices.Contains(labelsOf, label) {
			wrong = append(wrong, fmt.Sprintf("%s has no label %q", metric, label))
		}
	}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.VectorSelector:
			if _, has := known[n.Name]; !has {
				wrong = append(wrong, fmt.Sprintf("there is no metric %q", n.Name))
			}
			for _, m := range n.LabelMatchers {
				if m.Name != model.MetricNameLabel {
					must(m.Name, n.Name)
				}
			}
		case *parser.AggregateExpr:
			for _, label := range n.Grouping {
				for _, metric := range metricsIn(n.Expr) {
					must(label, metric)
				}
			}
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				for _, label := range n.VectorMatching.MatchingLabels {
					for _, metric := range metricsIn(n) {
						must(label, metric)
					}
				}
			}
		}
		return nil
	})
	return wrong
}

func metricsIn(expr parser.Node) (names []string) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if s, ok := node.(*parser.VectorSelector); ok {
			names = append(names, s.Name)
		}
		return nil
	})
	return names
}

func TestAlertsNameMetricsThatThereAre(t *testing.T) {
	for name, rule := range alerts(t) {
		for _, wrong := range wrongNames(parse(t, rule.Expr), series()) {
			t.Errorf("%s: %s", name, wrong)
		}
	}
}

func TestTheDashboardNamesMetricsThatThereAreAndLeavesNoneOut(t *testing.T) {
	used := map[string]bool{}
	for _, p := range dashboard(t) {
		for _, target := range p.Targets {
			expr := parse(t, target.Expr)
			for _, wrong := range wrongNames(expr, series()) {
				t.Errorf("panel %q: %s", p.Title, wrong)
			}
			for _, name := range metricsIn(expr) {
				used[strings.TrimSuffix(name, "_bucket")] = true
			}
			for _, label := range legend(target.LegendFormat) {
				if !slices.Contains(resultLabels(expr), label) {
					t.Errorf("panel %q: there is no label %q in what %s gives", p.Title, label, target.Expr)
				}
			}
		}
	}
	var want []string
	for _, m := range telemetry.Metrics() {
		if m.Name != "slipway_node_claimed_timestamp_seconds" { // for the alert
			want = append(want, m.Name)
		}
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(used))); diff != "" {
		t.Errorf("(-there is +is shown):\n%s", diff)
	}
}

var templateLabel = regexp.MustCompile(`\{\{\s*(\w+)\s*\}\}`)

func legend(format string) (names []string) {
	for _, m := range templateLabel.FindAllStringSubmatch(format, -1) {
		names = append(names, m[1])
	}
	return names
}

// resultLabels are those that the aggregations of an expression leave.
func resultLabels(expr parser.Expr) (names []string) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if a, ok := node.(*parser.AggregateExpr); ok && names == nil {
			names = a.Grouping
		}
		return nil
	})
	return names
}

func TestPanelsDoNotLieOnOneAnother(t *testing.T) {
	type place struct{ x, y int }
	taken, ids := map[place]string{}, map[int]bool{}
	rows := 0
	for _, p := range dashboard(t) {
		if p.Type == "row" {
			rows++
		} else if len(p.Targets) == 0 {
			t.Errorf("panel %q shows nothing", p.Title)
		}
		if ids[p.ID] {
			t.Errorf("panel %q has the id of another", p.Title)
		}
		ids[p.ID] = true
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[place{x, y}]; other != "" || x >= 24 {
					t.Fatalf("panel %q lies on %q, or outside", p.Title, other)
				}
				taken[place{x, y}] = p.Title
			}
		}
	}
	if rows != 8 {
		t.Errorf("there are %d rows, want 8", rows)
	}
}

func TestEachAlertHasARunbookAndEachRunbookAnAlert(t *testing.T) {
	const at = "https://github.com/slipway-k8s/slipway/blob/main/docs/runbooks.md#"
	sections := map[string]string{} // by anchor
	for _, section := range strings.Split(read(t, "docs/runbooks.md"), "\n## ")[1:] {
		title, text, _ := strings.Cut(section, "\n")
		sections[strings.ToLower(title)] = text
	}
	for name, rule := range alerts(t) {
		anchor, ok := strings.CutPrefix(rule.Annotations["runbook_url"], at)
		text, has := sections[anchor]
		if !ok || !has || anchor != strings.ToLower(name) {
			t.Errorf("%s: there is no runbook at %q", name, rule.Annotations["runbook_url"])
		}
		for _, part := range []string{"**Meaning.**", "**Look at**", "**Do**", "**Responsible.**"} {
			if has && !strings.Contains(text, part) {
				t.Errorf("the runbook of %s does not say %s", name, part)
			}
		}
		if rule.Annotations["summary"] == "" || rule.Annotations["description"] == "" {
			t.Errorf("%s has no summary or description", name)
		}
		if s := rule.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s has severity %q", name, s)
		}
		for _, label := range describedLabels(rule.Annotations["description"]) {
			if !slices.Contains(resultLabels(parse(t, rule.Expr)), label) {
				t.Errorf("%s: its description has label %q, which its expression does not give", name, label)
			}
		}
		delete(sections, anchor)
	}
	for anchor := range sections {
		t.Errorf("the runbook #%s is of no alert", anchor)
	}
}

var descriptionLabel = regexp.MustCompile(`\$labels\.(\w+)`)

func describedLabels(text string) (names []string) {
	for _, m := range descriptionLabel.FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}
