// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"html"
	"os"
	"strings"
)

// colors has one color for each contender.
var colors = []string{"#8c959f", "#bf8700", "#0969da"}

// BarGroup is a group of bars with its own scale.
type BarGroup struct {
	Title string
	Bars  []Bar
}

// Bar is a bar to Value, with a line from Min to Max.
type Bar struct {
	Name, Label     string
	Value, Min, Max float64
	Color           int
}

// Bars draws groups of bars, one below the other, as SVG. The label is for readers who cannot see it.
func Bars(label string, groups []BarGroup) string {
	const (
		width, margin, line = 1000, 8, 18
		left, longest       = 110, 600 // where bars begin, and how long the longest is
		perLine             = 150      // characters of a title
	)
	var b strings.Builder
	y := 0
	text := func(x float64, text string) {
		fmt.Fprintf(&b, `<text x="%.0f" y="%d">%s</text>`+"\n", x, y, html.EscapeString(text))
	}
	y += line
	text(margin, label)
	for _, group := range groups {
		y += line * 3 / 2
		text(margin, shorten(group.Title, perLine))
		most := 1e-9
		for _, bar := range group.Bars {
			most = max(most, bar.Max)
		}
		for _, bar := range group.Bars {
			y += line
			scale := longest / most
			text(margin, bar.Name)
			fmt.Fprintf(&b, `<rect x="%d" y="%d" width="%.1f" height="12" fill="%s"/><path d="M%.1f %dH%.1f" stroke="#1f2328"/>`+"\n",
				left, y-10, bar.Value*scale, colors[bar.Color], left+bar.Min*scale, y-4, left+bar.Max*scale)
			text(left+bar.Max*scale+margin, bar.Label)
		}
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="%s" font-family="Liberation Sans,Arial,sans-serif" font-size="12">`+
		"\n<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n%s</svg>\n", width, y+line, html.EscapeString(label), b.String())
}

// shorten cuts a text after a clause, so that it fits.
func shorten(text string, most int) string {
	for len([]rune(text)) > most {
		cut := strings.LastIndex(text, ", ")
		if cut < 0 {
			return string([]rune(text)[:most-1]) + "…"
		}
		text = text[:cut]
	}
	return text
}

// WriteChart writes a chart into a file, if there is one.
func WriteChart(path, svg string) error {
	if path == "" {
		return nil
	}
	return os.WriteFile(path, []byte(svg), 0o644)
}
