// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/slipway-k8s/slipway/bench/internal/fit"
)

// Panel is one plot of a figure.
type Panel struct {
	// Title says what it shows; Across and Up say what the axes are, with their units.
	Title, Across, Up string
	// Series are at most three.
	Series []Series
}

// Series is what was measured, and what goes through it.
type Series struct {
	Name   string
	Points []fit.Point
	// Line goes through the points, from the first X to the last. Nil: there is none.
	Line *fit.Line
}

// The measures of a figure.
const (
	panelWidth  = 380
	panelHeight = 250
	left        = 52 // room for the numbers of the axis upward
	right       = 16
	top         = 52
	bottom      = 40
	columns     = 2
	// lines of an axis, at most.
	lines = 5
	// room above the highest point.
	headroom = 1.05
)

const style = `  <style>
    text { font: 12px system-ui, sans-serif; fill: #24292f }
    .title { font-weight: 600 }
    .quiet { fill: #57606a }
    .axis { stroke: #d0d7de; stroke-width: 1 }
    .line { fill: none; stroke-width: 1.5; opacity: .6 }
    .s0 { fill: #0969da; stroke: #0969da }
    .s1 { fill: #bf8700; stroke: #bf8700 }
    .s2 { fill: #8250df; stroke: #8250df }
    @media (prefers-color-scheme: dark) {
      text { fill: #e6edf3 }
      .quiet { fill: #9198a1 }
      .axis { stroke: #3d444d }
      .s0 { fill: #4493f8; stroke: #4493f8 }
      .s1 { fill: #d29922; stroke: #d29922 }
      .s2 { fill: #ab7df8; stroke: #ab7df8 }
    }
  </style>
`

// Figure draws panels, two side by side. The label is for those who cannot see it.
func Figure(label string, panels ...Panel) string {
	var b strings.Builder
	rows := (len(panels) + columns - 1) / columns
	width, height := columns*panelWidth, rows*panelHeight
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" aria-label="%s">`+"\n",
		width, height, width, height, html.EscapeString(label))
	b.WriteString(style)
	for i, p := range panels {
		fmt.Fprintf(&b, `  <g transform="translate(%d %d)">`+"\n", i%columns*panelWidth, i/columns*panelHeight)
		draw(&b, p)
		b.WriteString("  </g>\n")
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scale is where the numbers of a panel are on it.
type scale struct{ across, up float64 }

func (p Panel) scale() scale {
	s := scale{}
	for _, series := range p.Series {
		for _, point := range series.Points {
			s.across, s.up = max(s.across, point.X), max(s.up, point.Y)
		}
	}
	s.up *= headroom
	return s
}

func (s scale) x(x float64) float64 {
	return round(left + (panelWidth-left-right)*share(x, s.across))
}

func (s scale) y(y float64) float64 {
	return round(panelHeight - bottom - (panelHeight-top-bottom)*share(y, s.up))
}

func share(value, whole float64) float64 {
	if whole == 0 {
		return 0
	}
	return value / whole
}

func round(x float64) float64 { return math.Round(10*x) / 10 }

func draw(b *strings.Builder, p Panel) {
	s := p.scale()
	text(b, left, 16, "title", "start", p.Title)
	text(b, left, 32, "quiet", "start", p.Up)
	text(b, panelWidth-right, panelHeight-8, "quiet", "end", p.Across)
	for y := 0.0; y <= s.up; y += step(s.up) {
		fmt.Fprintf(b, `    <line x1="%d" y1="%[2]g" x2="%[3]d" y2="%[2]g" class="axis"/>`+"\n", left, s.y(y), panelWidth-right)
		text(b, left-6, s.y(y)+4, "quiet", "end", number(y))
		if s.up == 0 {
			break
		}
	}
	for x := 0.0; s.across > 0 && x <= s.across; x += step(s.across) {
		text(b, s.x(x), panelHeight-bottom+16, "quiet", "middle", number(x))
	}
	for i, series := range p.Series {
		drawSeries(b, s, series, fmt.Sprintf("s%d", i))
		if len(p.Series) > 1 {
			name(b, p, i)
		}
	}
}

// name writes the name of a series, behind a dot of its colour.
func name(b *strings.Builder, p Panel, i int) {
	const perLetter, dot = 6.4, 18
	x := float64(left)
	for _, before := range p.Series[:i] {
		x += dot + 10 + perLetter*float64(len([]rune(before.Name)))
	}
	fmt.Fprintf(b, `    <circle cx="%g" cy="44" r="3.5" class="s%d"/>`+"\n", round(x+4), i)
	text(b, round(x+dot-6), 48, "quiet", "start", p.Series[i].Name)
}

func drawSeries(b *strings.Builder, s scale, series Series, class string) {
	if l := series.Line; l != nil {
		fmt.Fprintf(b, `    <line x1="%g" y1="%g" x2="%g" y2="%g" class="line %s"/>`+"\n",
			s.x(l.From), s.y(max(0, l.For(l.From))), s.x(l.To), s.y(max(0, l.For(l.To))), class)
	}
	for _, p := range series.Points {
		fmt.Fprintf(b, `    <circle cx="%g" cy="%g" r="3.5" class="%s"/>`+"\n", s.x(p.X), s.y(p.Y), class)
	}
}

func text(b *strings.Builder, x, y float64, class, anchor, text string) {
	fmt.Fprintf(b, `    <text x="%g" y="%g" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, html.EscapeString(text))
}

// step is the distance of an axis's lines: 1, 2 or 5 of a power of ten.
func step(longest float64) float64 {
	if longest <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(longest/lines)))
	for _, of := range []float64{1, 2, 5} {
		if longest/(of*power) <= lines {
			return of * power
		}
	}
	return 10 * power
}

// number is one on an axis.
func number(x float64) string { return fmt.Sprintf("%.6g", x) }
