// SPDX-License-Identifier: Apache-2.0

package plot

import (
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/bench/internal/fit"
)

var update = flag.Bool("update", false, "write the golden file anew")

func figure() string {
	points := []fit.Point{{X: 1, Y: 44}, {X: 100, Y: 60}, {X: 200, Y: 80}}
	line := fit.Through(points...)
	return Figure("Agents & what they take",
		Panel{Title: "Memory <of all>", Across: "agents", Up: "MiB", Series: []Series{{Name: "agents", Points: points, Line: &line}}},
		Panel{Title: "Two of them", Across: "drains", Up: "s", Series: []Series{
			{Name: "central", Points: []fit.Point{{X: 1, Y: .5}}}, {Name: "agents", Points: []fit.Point{{X: 2, Y: .7}}},
		}},
		Panel{Title: "Nothing was measured", Across: "x", Up: "y"},
	)
}

func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "figure.svg")
	if *update {
		if err := os.WriteFile(path, []byte(figure()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), figure()); diff != "" {
		t.Errorf("go test -update writes it anew (-want +got):\n%s", diff)
	}
}

func TestAFigureIsXML(t *testing.T) {
	decoder := xml.NewDecoder(strings.NewReader(figure()))
	for {
		if _, err := decoder.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnAxisHasFewLines(t *testing.T) {
	for longest, want := range map[float64]float64{0: 1, 1: .2, 4: 1, 5: 1, 7: 2, 100: 20, 171: 50, 1000: 200, 4609: 1000} {
		if got := step(longest); got < want*.999 || got > want*1.001 {
			t.Errorf("up to %g, a line each %g; want %g", longest, got, want)
		}
	}
}
