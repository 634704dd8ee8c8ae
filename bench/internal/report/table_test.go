// SPDX-License-Identifier: Apache-2.0

package report

import "testing"

func TestNumbers(t *testing.T) {
	for x, want := range map[float64]string{0: "0", 4.5e-13: "0", -2: "-2.0", .99999: "1.0", .0123: "0.012", 1: "1.0", 99.94: "99.9", 1000: "1,000", 1234567.8: "1,234,568", 999: "999", -595: "-595", -1132: "-1,132"} {
		if got := Number(x); got != want {
			t.Errorf("%g is shown as %s; want %s", x, got, want)
		}
	}
}
