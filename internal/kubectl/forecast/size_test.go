// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"testing"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// BenchmarkAFleet forecasts 300 nodes with 9000 pods, one at a time.
func BenchmarkAFleet(b *testing.B) {
	w := newWorld()
	for i := range 300 {
		words := []string{fmt.Sprintf("zone=%c", 'a'+i%3)}
		for app := range 15 {
			words = append(words, fmt.Sprintf("pods=app-%d:2", (i+app)%40))
		}
		if err := w.node(fmt.Sprintf("worker-%d", i), words...); err != nil {
			b.Fatal(err)
		}
	}
	for app := range 40 {
		w.budget(fmt.Sprintf("app-%d", app), 10, 225)
	}
	w.facts.Maintenances.Maintenances = []*slipwayv1alpha1.NodeMaintenance{w.maintenance()}
	for b.Loop() {
		if _, err := Predict(w.facts); err != nil {
			b.Fatal(err)
		}
	}
}
