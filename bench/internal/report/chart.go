// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"fmt"
	"html"
	"image/color"
	"os"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// colors are those of contenders and of series.
var colors = []color.Color{color.RGBA{0x8c, 0x95, 0x9f, 255}, color.RGBA{0xbf, 0x87, 0, 255}, color.RGBA{0x09, 0x69, 0xda, 255}}

// BarGroup is a group of bars with a scale of its own.
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

// Panel is one plot of a figure.
type Panel struct {
	// Title says what it shows; X and Y are the axes, with their units.
	Title, X, Y string
	Series      []Series
}

// Series is what was measured, with a line through it.
type Series struct {
	Name   string
	Points plotter.XYs
	// Line is the Y of the line for an X.
	Line func(x float64) float64
}

// Bars draws groups of bars, one below the other, as SVG.
func Bars(label string, groups []BarGroup) (string, error) {
	const width, height, titleLength = 760, 88, 118
	rows := make([][]*plot.Plot, len(groups))
	for i, group := range groups {
		p := newPlot(shorten(group.Title, titleLength))
		p.HideX()
		p.X.Min = 0
		names := make([]string, len(group.Bars))
		for j, bar := range group.Bars {
			y := float64(len(group.Bars) - j - 1) // the first is on top
			names[len(names)-j-1] = bar.Name
			bars, err := plotter.NewBarChart(plotter.Values{bar.Value}, vg.Points(11))
			if err != nil {
				return "", fmt.Errorf("draw %s: %w", group.Title, err)
			}
			bars.Horizontal, bars.XMin, bars.Color, bars.LineStyle.Width = true, y, colors[bar.Color], 0
			spread, err := plotter.NewLine(plotter.XYs{{X: bar.Min, Y: y}, {X: bar.Max, Y: y}})
			if err != nil {
				return "", fmt.Errorf("draw %s: %w", group.Title, err)
			}
			text, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{{X: bar.Max, Y: y}}, Labels: []string{"  " + bar.Label}})
			if err != nil {
				return "", fmt.Errorf("draw %s: %w", group.Title, err)
			}
			text.TextStyle[0] = p.Y.Tick.Label
			text.TextStyle[0].XAlign = draw.XLeft
			p.Add(bars, spread, text)
			p.X.Max = max(p.X.Max, bar.Max*1.3) // room for the label
		}
		p.NominalY(names...)
		p.Y.LineStyle.Width, p.Y.Min, p.Y.Max = 0, -.6, float64(len(names))-.4
		rows[i] = []*plot.Plot{p}
	}
	return figure(label, rows, width, height)
}

// Figure draws panels, two side by side, as SVG.
func Figure(label string, panels []Panel) (string, error) {
	const columns, width, height, headroom = 2, 380, 250, 1.03
	var rows [][]*plot.Plot
	for i, panel := range panels {
		p := newPlot(panel.Title)
		p.X.Label.Text, p.Y.Label.Text = panel.X, panel.Y
		p.X.Min, p.Y.Min = 0, 0
		p.Add(plotter.NewGrid())
		p.Legend.Top, p.Legend.Left, p.Legend.Padding = true, true, vg.Points(2)
		for j, series := range panel.Series {
			points, err := plotter.NewScatter(series.Points)
			if err != nil {
				return "", fmt.Errorf("draw %s: %w", panel.Title, err)
			}
			points.GlyphStyle = draw.GlyphStyle{Color: colors[2-j], Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
			line := plotter.NewFunction(series.Line)
			line.XMin, line.XMax, _, _ = plotter.XYRange(series.Points)
			line.Color = colors[2-j]
			p.Add(line, points)
			_, xMax, _, yMax := plotter.XYRange(series.Points)
			p.X.Max, p.Y.Max = max(p.X.Max, headroom*xMax), max(p.Y.Max, headroom*yMax)
			if series.Name != "" {
				p.Legend.Add(series.Name, points)
			}
		}
		if i%columns == 0 {
			rows = append(rows, nil)
		}
		rows[i/columns] = append(rows[i/columns], p)
	}
	return figure(label, rows, width, height)
}

func newPlot(title string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.Title.Padding = title, vg.Points(4)
	for _, style := range []*draw.TextStyle{&p.Title.TextStyle, &p.X.Label.TextStyle, &p.Y.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label, &p.Legend.TextStyle} {
		style.Font.Typeface, style.Font.Variant, style.Font.Size = "Liberation", "Sans", font.Points(9)
	}
	return p
}

// figure aligns plots of that size in rows. The label is for readers who cannot see it.
func figure(label string, rows [][]*plot.Plot, width, height font.Length) (string, error) {
	if len(rows) == 0 {
		return "", fmt.Errorf("draw %q: there is nothing to draw", label)
	}
	columns := len(rows[0])
	if last := len(rows) - 1; len(rows[last]) < columns {
		rows[last] = append(rows[last], plot.New())
	}
	const margin, head = 8, 22
	all := draw.New(vgsvg.New(font.Length(columns)*width, font.Length(len(rows))*height+head))
	canvas := all.Canvas.(*vgsvg.Canvas)
	all.SetColor(color.White)
	all.Fill(all.Rectangle.Path())
	text := newPlot("").Title.TextStyle
	text.XAlign, text.YAlign = draw.XLeft, draw.YTop
	all.FillText(text, vg.Point{X: margin, Y: all.Max.Y - margin}, label)
	tiles := draw.Tiles{Rows: len(rows), Cols: columns, PadX: vg.Points(12), PadY: vg.Points(6), PadLeft: margin, PadRight: margin, PadTop: head}
	for i, row := range plot.Align(rows, tiles, all) {
		for j, tile := range row {
			rows[i][j].Draw(tile)
		}
	}
	var b bytes.Buffer
	if _, err := canvas.WriteTo(&b); err != nil {
		return "", fmt.Errorf("write %q: %w", label, err)
	}
	return strings.NewReplacer(
		"<svg ", fmt.Sprintf(`<svg role="img" aria-label="%s" `, html.EscapeString(label)),
		"font-family:Liberation Sans", "font-family:Liberation Sans,Arial,sans-serif",
	).Replace(b.String()), nil
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

// WriteChart draws a chart into a file, if there is one.
func WriteChart(path string, draw func() (string, error)) error {
	if path == "" {
		return nil
	}
	svg, err := draw()
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(svg), 0o644)
}
