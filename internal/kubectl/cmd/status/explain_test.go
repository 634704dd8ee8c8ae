// SPDX-License-Identifier: Apache-2.0

package status

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

var tenPast = time.Date(2026, 1, 5, 12, 10, 0, 0, time.UTC)

func reportOf(t *testing.T, facts string) explain.Report {
	t.Helper()
	text, err := os.ReadFile("testdata/explain/" + facts + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var f explain.Facts
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		t.Fatal(err)
	}
	return explain.Explain(f, tenPast)
}

func TestExplainFitsTheTerminal(t *testing.T) {
	long := regexp.MustCompile(`^ *'[^']*'( \\)?$`) // an argument that no line break may part
	for _, facts := range []string{"blocked", "in-service", "pending"} {
		for name, style := range map[string]ui.Style{
			"80":          {Terminal: true, Width: 80},
			"120":         {Terminal: true, Width: 120},
			"color":       {Terminal: true, Width: 80, Color: true},
			"no-terminal": {},
		} {
			t.Run(facts+"-"+name, func(t *testing.T) {
				var out bytes.Buffer
				out.WriteString(reportText(style, reportOf(t, facts), tenPast, ""))
				for line := range strings.Lines(out.String()) {
					line = strings.TrimSuffix(line, "\n")
					if style.Width > 0 && !style.Color && utf8.RuneCountInString(line) > style.Width && !long.MatchString(line) {
						t.Errorf("%d columns: %s", utf8.RuneCountInString(line), line)
					}
				}
				clitest.Golden(t, fmt.Sprintf("explain/%s-%s", facts, name), out.String())
			})
		}
	}
}

// A color says nothing that the words do not.
func TestExplainSaysTheSameWithoutColors(t *testing.T) {
	var plain, colored bytes.Buffer
	report := reportOf(t, "blocked")
	for out, style := range map[*bytes.Buffer]ui.Style{&plain: {Width: 80}, &colored: {Width: 80, Color: true}} {
		out.WriteString(reportText(style, report, tenPast, ""))
	}
	if bare := regexp.MustCompile("\x1b\\[[0-9]*m").ReplaceAllString(colored.String(), ""); bare != plain.String() {
		t.Errorf("without its colors it is\n%s\nand not\n%s", bare, plain.String())
	}
}

func TestExplainAsJSONIsTheReport(t *testing.T) {
	var out bytes.Buffer
	if err := cli.Encode(&out, cli.JSON, reportOf(t, "blocked")); err != nil {
		t.Fatal(err)
	}
	clitest.Golden(t, "explain/blocked-json", out.String())
}
