// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var rewrite = flag.Bool("rewrite", false, "write what comes out into testdata")

// All mistakes of a sample, and what becomes of each: what its tests hold is known there.
func TestWhatBecomesOfTheMistakesOfASample(t *testing.T) {
	r, err := try(t.Context(), settings{workers: 2, slowest: time.Minute}, "./testdata/sample")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	fmt.Fprintf(&got, "covered: %.1f %%\n", r.coverage)
	for _, o := range r.results {
		fmt.Fprintf(&got, "%d:%d %s: %s\n", o.at.Line, o.at.Column, o.what, o.outcome)
	}
	golden := filepath.Join("testdata", "sample.txt")
	if *rewrite {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("go test -rewrite if that is right: -want +got:\n%s", diff)
	}
}

func TestASampleIsTheSameForTheSameSeed(t *testing.T) {
	all := make([]mutant, 100)
	for i := range all {
		all[i].id = i + 1
		all[i].at.Filename = fmt.Sprintf("dir/%d.go", i%2)
	}
	first, second, other := chosen(settings{sample: 10, seed: 1}, all), chosen(settings{sample: 10, seed: 1}, all), chosen(settings{sample: 10, seed: 2}, all)
	same := func(a, b []mutant) bool { return cmp.Equal(fmt.Sprint(a), fmt.Sprint(b)) }
	if len(first) != 10 || !same(first, second) || same(first, other) {
		t.Errorf("of seed 1: %v, then %v; of seed 2: %v", first, second, other)
	}
	if got := chosen(settings{sample: 1000}, all); len(got) != 100 {
		t.Errorf("of 100, %d are tried", len(got))
	}
	for _, m := range chosen(settings{only: "1.go"}, all) {
		if filepath.Base(m.at.Filename) != "1.go" {
			t.Errorf("of 1.go only: there is %v", m)
		}
	}
}

func TestWhatIsReported(t *testing.T) {
	m := func(line int, what string, o outcome, reason string) result {
		r := result{mutant: mutant{what: what}, outcome: o, reason: reason}
		r.at.Filename, r.at.Line, r.at.Column = "x/next.go", line, 2
		return r
	}
	r := report{pattern: "./x", coverage: 91.25, found: 9, left: []string{"TestSlow"}, results: []result{
		m(1, "never true: a", killed, ""), m(2, "never true: b", survived, ""), m(3, "never true: c", notReached, ""), m(4, "never true: d", survived, ""),
	}}
	reasons, err := readEquivalents("# it is the same\n# either way\nx/next.go: never true: d\nx/next.go: never true: a\n")
	if err != nil {
		t.Fatal(err)
	}
	r.explain(reasons)
	var got bytes.Buffer
	if err := write(&got, []report{r}, settings{sample: 4, seed: 5}); err != nil {
		t.Fatal(err)
	}
	want := `| package | statements covered | mistakes | killed | survived | of these explained | score |
|---|---:|---:|---:|---:|---:|---:|
| ` + "`x`" + ` | 91.2 % | 4 of 9 | 1 | 3 | 1 | 25.0 % |

A sample, of -seed=5.

Not asked, since slow: TestSlow.

x/next.go:2:2: never true: b
x/next.go:3:2: never true: c (no test comes by)
`
	if diff := cmp.Diff(want, got.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if got := r.results[3].reason; got != "it is the same either way" {
		t.Errorf("the reason is %q", got)
	}
}

func TestAReasonIsNeeded(t *testing.T) {
	for _, text := range []string{"x/next.go: never true: d\n", "# why\nnever true\n", "# why\n\nx/next.go: never true: d\n"} {
		if all, err := readEquivalents(text); err == nil {
			t.Errorf("%q is read, as %v", text, all)
		}
	}
}
