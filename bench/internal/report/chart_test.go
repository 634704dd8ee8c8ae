// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"
)

// TestChartsAreSVG: a chart is XML, and has the texts of what it shows. What it looks like is the library's.
func TestChartsAreSVG(t *testing.T) {
	bars, barsErr := Bars("<label>", []BarGroup{
		{Title: "100 pods <of> 300", Bars: []Bar{{Name: "kubectl drain", Label: "40.0 s", Value: 40, Min: 38, Max: 44}, {Name: "Slipway", Value: 11, Min: 11, Max: 11, Color: 2}}},
	})
	figure, figureErr := Figure("<label>", []Panel{
		{Title: "one", X: "nodes", Y: "MiB", Series: []Series{{Name: "agents", Points: plotter.XYs{{X: 1, Y: 2}, {X: 3, Y: 4}}, Line: func(x float64) float64 { return x + 1 }}}},
		{Title: "two"},
		{Title: "three"},
	})
	for name, tc := range map[string]struct {
		svg  string
		err  error
		want []string
	}{
		"bars":   {bars, barsErr, []string{"&lt;label&gt;", "100 pods &lt;of&gt; 300", "kubectl drain", "40.0 s", "Slipway"}},
		"figure": {figure, figureErr, []string{"one", "two", "three", "nodes", "MiB", "agents"}},
	} {
		if tc.err != nil {
			t.Errorf("%s: %v", name, tc.err)
		}
		decoder := xml.NewDecoder(strings.NewReader(tc.svg))
		for {
			_, err := decoder.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, want := range tc.want {
			if !strings.Contains(tc.svg, want) {
				t.Errorf("%s: there is no %q", name, want)
			}
		}
	}
	if _, err := Bars("nothing", nil); err == nil {
		t.Error("nothing was drawn, without an error")
	}
}
