// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slipway-k8s/slipway/bench/internal/report"
	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// TestRatio compares with intervals that were computed by hand: Student's t of 3 degrees of freedom
// is 3.1824 at 97.5 %, and of 1 is 12.706.
func TestRatio(t *testing.T) {
	for name, tc := range map[string]struct {
		base, next      []float64
		mean, low, high float64
	}{
		"one pair has no interval":      {[]float64{10}, []float64{5}, .5, 0, 0},
		"no scatter":                    {[]float64{10, 20, 30}, []float64{11, 22, 33}, 1.1, 1.1, 1.1},
		"twice and half":                {[]float64{1, 2}, []float64{2, 1}, 1, math.Exp(-12.7062 * math.Ln2), math.Exp(12.7062 * math.Ln2)},
		"a mean of ratios, not of sums": {[]float64{1, 100, 1, 100}, []float64{2, 100, 2, 100}, math.Sqrt2, .74810, 2.67343},
	} {
		t.Run(name, func(t *testing.T) {
			got := ratioOf(tc.base, tc.next)
			near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-4*math.Max(a, b) }
			if !near(got.Mean, tc.mean) || !near(got.Low, tc.low) || !near(got.High, tc.high) {
				t.Errorf("ratio %s; want %g (%g–%g)", got, tc.mean, tc.low, tc.high)
			}
		})
	}
}

// TestTheIntervalDoesNotDependOnTheOrder: the ratio of base to new is the inverse, and so is its interval.
func TestTheIntervalDoesNotDependOnTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Float64Range(.1, 1000)
		base := rapid.SliceOfN(seconds, 2, 12).Draw(t, "base")
		next := rapid.SliceOfN(seconds, len(base), len(base)).Draw(t, "new")
		a, b := ratioOf(base, next), ratioOf(next, base)
		for _, pair := range [][2]float64{{a.Mean, b.Mean}, {a.Low, b.High}, {a.High, b.Low}} {
			if math.Abs(math.Log(pair[0])+math.Log(pair[1])) > 1e-6 {
				t.Errorf("%s and %s are not inverse", a, b)
			}
		}
		if a.Low > a.Mean || a.Mean > a.High {
			t.Errorf("%s: the mean is outside of its interval", a)
		}
	})
}

// comparison has two scenarios: the new build is 10 % slower in (b), and refused less.
func comparison() Comparison {
	b, d := All()[1], All()[3]
	c := Comparison{Base: "0123456789ab", Seed: 1, Conditions: report.Conditions{Slipway: "ba9876543210, changed", Kubernetes: "v1.2.3", Cores: 2, Load: "0.10"}}
	for i := range 3 {
		seconds := float64(10 + i)
		c.Runs = append(c.Runs, run("b", "base", i+1, seconds, 25, 5), run("b", "new", i+1, 1.1*seconds, 20, 0))
	}
	c.Runs = append(c.Runs, run("d", "base", 1, 8, 100, 0), run("d", "new", 1, 4, 100, 0))
	c.sumUp([]Scenario{b, d})
	return c
}

func TestAComparisonSumsUpBothSides(t *testing.T) {
	want := Compared{
		Key: "b", Runs: 3, Ratio: Ratio{1.1, 1.1, 1.1},
		Base: Side{Seconds: 11, Refused: 15, PerPod: 1.25}, New: Side{Seconds: 12.1, Refused: 0, PerPod: 1},
	}
	round := cmp.Comparer(func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	if diff := cmp.Diff(want, comparison().Scenarios[0], round); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestABlockedDrainCannotBeCompared(t *testing.T) {
	blocked, err := Select([]string{"f"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Compare(t.Context(), CompareOptions{Scenarios: blocked}, nil); err == nil {
		t.Error("a drain that does not end was compared")
	}
}

// TestManifestsAreRead: those of this tree, each document of each file, without comments.
func TestManifestsAreRead(t *testing.T) {
	root, err := devcluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	manifests, err := readManifests(root)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, m := range manifests {
		kinds[m.GetKind()]++
	}
	for _, kind := range []string{"CustomResourceDefinition", "ClusterRole", "ValidatingAdmissionPolicy", "LifecycleTransition", "Namespace"} {
		if kinds[kind] == 0 {
			t.Errorf("there is no %s: %v", kind, kinds)
		}
	}
}
