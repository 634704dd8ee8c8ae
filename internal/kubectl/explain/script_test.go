// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"sigs.k8s.io/yaml"
)

// TestScripts runs the text scripts in testdata: facts in, the report out. It is always
// 12:10 there.
//
//	explain            FACTS, as YAML
//	causes             FACTS: only the causes
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var f Facts
			if err := yaml.UnmarshalStrict([]byte(d.Input), &f); err != nil {
				d.Fatalf(t, "%v", err)
			}
			report := Explain(f, noon.Add(10*time.Minute))
			switch d.Cmd {
			case "explain":
				return inYAML(t, report)
			case "causes":
				return inYAML(t, report.Causes)
			default:
				d.Fatalf(t, "unknown command %q", d.Cmd)
				return ""
			}
		})
	})
}

var noon = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)

func inYAML(t *testing.T, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
