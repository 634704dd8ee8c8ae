// SPDX-License-Identifier: Apache-2.0

package fit

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestThrough(t *testing.T) {
	for name, tc := range map[string]struct {
		points []Point
		want   Line
	}{
		"nothing":           {nil, Line{}},
		"one point":         {[]Point{{3, 5}}, Line{At: 5, Fits: 1, Points: 1, From: 3, To: 3}},
		"on a line":         {[]Point{{1, 12}, {20, 50}, {100, 210}}, Line{At: 10, Each: 2, Fits: 1, Points: 3, From: 1, To: 100}},
		"around a line":     {[]Point{{0, 1}, {1, 0}, {2, 3}}, Line{At: 1. / 3, Each: 1, Fits: 3. / 7, Points: 3, From: 0, To: 2}},
		"the same X, twice": {[]Point{{2, 1}, {2, 3}}, Line{At: 2, Fits: 0, Points: 2, From: 2, To: 2}},
		"level":             {[]Point{{1, 4}, {9, 4}}, Line{At: 4, Fits: 1, Points: 2, From: 1, To: 9}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, Through(tc.points...), cmpopts.EquateApprox(1e-9, 1e-9)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestNoOtherLineIsNearer is what least squares means.
func TestNoOtherLineIsNearer(t *testing.T) {
	number := rapid.Float64Range(-1000, 1000)
	rapid.Check(t, func(t *rapid.T) {
		points := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Point {
			return Point{number.Draw(t, "x"), number.Draw(t, "y")}
		}), 2, 8).Draw(t, "points")
		off := func(l Line) (sum float64) {
			for _, p := range points {
				sum += math.Pow(p.Y-l.For(p.X), 2)
			}
			return sum
		}
		best := Through(points...)
		other := Line{At: best.At + number.Draw(t, "higher"), Each: best.Each + number.Draw(t, "steeper")}
		if off(other) < off(best)*(1-1e-9)-1e-6 {
			t.Errorf("%+v is nearer (%g) than %+v (%g)", other, off(other), best, off(best))
		}
	})
}
