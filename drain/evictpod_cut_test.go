// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/drain"
)

func TestACallerWhoLeavesWhileTheServerIsSlowHoldsUpNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		other := func(p *corev1.Pod) { p.Labels["app"] = "other" }
		s := newFakeServer(t, fakePod("a", other), fakePod("b", other), fakePod("c"), fakeBudget("web", 0))
		hangs := true
		s.onEvict = func(ctx context.Context) error {
			if hangs {
				hangs = false
				<-ctx.Done()
				return ctx.Err()
			}
			s.remove("b")
			return nil
		}
		d := newDrainer(t, s)
		c := startEvicting(t, d, "c") // keeps the loop that all share
		a := startEvicting(t, d, "a")
		synctest.Wait()
		a.cancel(nil)
		if err := a.end(); !errors.Is(err, context.Canceled) {
			t.Errorf("EvictPod returned %v", err)
		}
		began := time.Now()
		b := startEvicting(t, d, "b")
		if err := b.end(); err != nil || time.Since(began) > 0 {
			t.Errorf("b: %v, after %s; it was told %v", err, time.Since(began), b.reasons())
		}
		if diff := cmp.Diff([]drain.Reason{drain.BudgetExhausted}, c.reasons()); diff != "" {
			t.Errorf("c was told (-want +got):\n%s", diff)
		}
	})
}
