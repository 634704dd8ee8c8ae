// SPDX-License-Identifier: Apache-2.0

// Package fit draws lines through what was measured.
//
//	points ── Through ──▶ Line: at nothing so much, and so much for each
package fit

import "math"

// Point is what was measured (Y) at a size (X).
type Point struct{ X, Y float64 }

// Line is Y = At + Each · X.
type Line struct {
	// At is Y for X = 0, and Each what each X adds.
	At, Each float64
	// Fits is the coefficient of determination, R²: 1 if all points are on the line.
	Fits float64
	// Points are how many it goes through. Through two, a line always goes: that says nothing of Fits.
	Points int
	// From and To are the least and the greatest X of the points: what is said of others is
	// extrapolated.
	From, To float64
}

// Through is the line with the least squares of what the points are off it. With one point, or with all at
// the same X, it is level.
func Through(points ...Point) Line {
	if len(points) == 0 {
		return Line{}
	}
	l := Line{Points: len(points), From: math.Inf(1), To: math.Inf(-1)}
	var x, y float64
	for _, p := range points {
		x, y = x+p.X, y+p.Y
		l.From, l.To = min(l.From, p.X), max(l.To, p.X)
	}
	n := float64(len(points))
	x, y = x/n, y/n
	var xx, xy, yy float64
	for _, p := range points {
		xx, xy, yy = xx+(p.X-x)*(p.X-x), xy+(p.X-x)*(p.Y-y), yy+(p.Y-y)*(p.Y-y)
	}
	if xx > 0 {
		l.Each = xy / xx
	}
	l.At, l.Fits = y-l.Each*x, 1
	if yy > 0 {
		l.Fits = l.Each * xy / yy
	}
	return l
}

// For is what the line says of an X.
func (l Line) For(x float64) float64 { return l.At + l.Each*x }
