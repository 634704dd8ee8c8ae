// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Ratio compares the duration of drains by the new build with the base.
type Ratio struct {
	// Mean is the geometric mean of the ratios of all pairs.
	Mean float64 `json:"mean"`
	// Low and High bound the 95 % confidence interval. Both are 0 if there is only one pair.
	Low  float64 `json:"low,omitempty"`
	High float64 `json:"high,omitempty"`
}

// ratioOf compares durations in pairs: base[i] and next[i] had the same workload, one right after the
// other. The interval is Student's t interval of the mean of the logarithms of the ratios: durations
// of drains scatter by factors, and drift of the machine affects both of a pair.
func ratioOf(base, next []float64) Ratio {
	logs := make([]float64, len(base))
	for i := range base {
		logs[i] = math.Log(next[i] / base[i])
	}
	mean, deviation := stat.MeanStdDev(logs, nil)
	r := Ratio{Mean: math.Exp(mean)}
	if n := float64(len(logs)); n > 1 {
		const upper = .975
		half := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(upper) * deviation / math.Sqrt(n)
		r.Low, r.High = math.Exp(mean-half), math.Exp(mean+half)
	}
	return r
}

// String shows the ratio with its interval.
func (r Ratio) String() string {
	if r.High == 0 {
		return fmt.Sprintf("%.3f", r.Mean)
	}
	return fmt.Sprintf("%.3f (%.3f–%.3f)", r.Mean, r.Low, r.High)
}
