// SPDX-License-Identifier: Apache-2.0

package report

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestChartIsSVG: a chart is XML, and has the texts that it shows.
func TestChartIsSVG(t *testing.T) {
	svg := Bars("<label>", []BarGroup{
		{Title: "100 pods <of> 300", Bars: []Bar{{Name: "kubectl drain", Label: "40.0 s", Value: 40, Min: 38, Max: 44}, {Name: "Slipway", Value: 11, Min: 11, Max: 11, Color: 2}}},
	})
	for decoder := xml.NewDecoder(strings.NewReader(svg)); ; {
		_, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{"&lt;label&gt;", "100 pods &lt;of&gt; 300", "kubectl drain", "40.0 s", "Slipway"} {
		if !strings.Contains(svg, want) {
			t.Errorf("the chart does not have %q", want)
		}
	}
}
