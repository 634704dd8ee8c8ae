// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"math"
	"strings"
)

// The measures of the chart.
const (
	chartWidth = 760
	left       = 96  // where bars begin
	right      = 130 // room for the numbers behind them
	top        = 46
	barHeight  = 16
	barGap     = 4
	titleRoom  = 24
	groupGap   = 18
)

// style has colours for light pages and for dark ones.
const style = `  <style>
    text { font: 12px system-ui, sans-serif; fill: #24292f }
    .head { font-weight: 600; font-size: 15px }
    .title { font-weight: 600 }
    .quiet { fill: #57606a }
    .spread { stroke: #24292f; stroke-width: 1.5 }
    .kubectl { fill: #8c959f }
    .ideal { fill: #bf8700 }
    .slipway { fill: #0969da }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .quiet { fill: #9198a1 }
      .spread { stroke: #e6edf3 }
      .kubectl { fill: #768390 }
      .ideal { fill: #d29922 }
      .slipway { fill: #4493f8 }
    }
  </style>
`

// Chart shows the wall times of the drains that can end, as an SVG: a bar for the
// median, a line from the least to the most. Each scenario has a scale of its own, since
// a fleet takes minutes and a node seconds.
func Chart(r Results) string {
	var b strings.Builder
	y := top
	for _, scenario := range r.Scenarios {
		if summaries := r.Of(scenario.Key); scenario.Blocked == 0 && len(summaries) > 0 {
			y = canvas{&b, longest(summaries)}.group(scenario, summaries, y)
		}
	}
	bars := b.String()
	b.Reset()
	height := y
	c := canvas{b: &b}
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="How long drains take">`+"\n",
		chartWidth, height, chartWidth, height)
	b.WriteString(style)
	b.WriteString(bars)
	c.text(0, 18, "head", "Seconds until the nodes are drained: less is better")
	c.text(0, 36, "quiet", fmt.Sprintf("%s; lines from least to most; a scale for each. Kubernetes %s on %d cores, nodes simulated.",
		r.medians(), r.Conditions.Kubernetes, r.Conditions.Cores))
	b.WriteString("</svg>\n")
	return b.String()
}

// longest is what the bars of a scenario are drawn against.
func longest(summaries []Summary) float64 {
	most := 0.0
	for _, s := range summaries {
		most = max(most, s.Max)
	}
	return most
}

type canvas struct {
	b       *strings.Builder
	longest float64
}

// x is where a number of seconds is.
func (c canvas) x(seconds float64) float64 {
	if c.longest == 0 {
		return left
	}
	return math.Round(10*(left+(chartWidth-left-right)*seconds/c.longest)) / 10
}

func (c canvas) text(x float64, y int, class, text string) {
	fmt.Fprintf(c.b, `  <text x="%g" y="%d" class="%s">%s</text>`+"\n", x, y, class, html.EscapeString(text))
}

// group draws a scenario, and returns where the next one begins.
func (c canvas) group(scenario Scenario, summaries []Summary, y int) int {
	c.text(0, y+14, "title", fmt.Sprintf("(%s) %s", scenario.Key, shorten(scenario.Title, 104)))
	y += titleRoom
	for _, s := range summaries {
		middle := y + barHeight/2
		c.text(0, y+barHeight-4, "quiet", display(s.Contender))
		fmt.Fprintf(c.b, `  <rect x="%d" y="%d" width="%.4g" height="%d" rx="2" class="%s"/>`+"\n",
			left, y, c.x(s.Wall)-left, barHeight, html.EscapeString(s.Contender))
		if s.Max > s.Min {
			fmt.Fprintf(c.b, `  <line x1="%g" y1="%[2]d" x2="%g" y2="%[2]d" class="spread"/>`+"\n", c.x(s.Min), middle, c.x(s.Max))
		}
		c.text(c.x(s.Max)+8, y+barHeight-4, "", label(s))
		y += barHeight + barGap
	}
	return y + groupGap
}

// display is a contender's name for people.
func display(contender string) string {
	switch contender {
	case kubectl:
		return "kubectl drain"
	case slipway:
		return "Slipway"
	default:
		return contender
	}
}

func label(s Summary) string {
	text := fmt.Sprintf("%.1f s", s.Wall)
	if s.Contender == slipway && s.FasterThanKubectl > 0 {
		text += fmt.Sprintf(", %.1f × as fast", s.FasterThanKubectl)
	}
	return text
}

// shorten cuts a text at a comma, so that it fits.
func shorten(text string, most int) string {
	for len([]rune(text)) > most {
		cut := strings.LastIndex(text, ",")
		if cut < 0 {
			return string([]rune(text)[:most-1]) + "…"
		}
		text = text[:cut]
	}
	return text
}
