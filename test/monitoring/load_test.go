// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"encoding/json"
	"log/slog"
	"os"
	"regexp"
	"testing"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"
)

const root = "../../"

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(root + path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// alerts are the rules, by name. rulefmt has looked at expressions and templates.
func alerts(t *testing.T) map[string]rulefmt.Rule {
	t.Helper()
	groups, errs := rulefmt.Parse([]byte(read(t, "config/monitoring/alerts.yaml")), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	for _, err := range errs {
		t.Fatal(err)
	}
	found := map[string]rulefmt.Rule{}
	for _, g := range groups.Groups {
		for _, rule := range g.Rules {
			if rule.Alert == "" || found[rule.Alert].Alert != "" {
				t.Fatalf("a rule is no alert, or there twice: %+v", rule)
			}
			found[rule.Alert] = rule
		}
	}
	return found
}

// panel is what we look at of a panel of Grafana.
type panel struct {
	ID      int
	Title   string
	Type    string
	GridPos struct{ X, Y, W, H int }
	Targets []struct{ Expr, LegendFormat string }
}

func dashboard(t *testing.T) (panels []panel) {
	t.Helper()
	var d struct {
		Panels        []panel
		Title, UID    string
		SchemaVersion int
	}
	if err := json.Unmarshal([]byte(read(t, "config/monitoring/dashboard.json")), &d); err != nil {
		t.Fatal(err)
	}
	if d.Title == "" || d.UID == "" || d.SchemaVersion == 0 {
		t.Errorf("the dashboard has no title, uid or schemaVersion: %+v", d)
	}
	return d.Panels
}

var grafanaVariable = regexp.MustCompile(`\$__rate_interval`)

// parse is the expression, with Grafana's variables filled in.
func parse(t *testing.T, expr string) parser.Expr {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(grafanaVariable.ReplaceAllString(expr, "5m"))
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return parsed
}
