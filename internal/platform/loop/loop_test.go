// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// TestAPanicIsAnErrorOfItsKey: the process goes on, and the key is tried again.
func TestAPanicIsAnErrorOfItsKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := make(chan string)
		panics := true
		l, err := New(t.Context(), "test", "key", 1, clock.RealClock{}, reconcile.TypedFunc[string](func(_ context.Context, key string) (reconcile.Result, error) {
			calls <- key
			if panics {
				panics = false
				panic("no such label")
			}
			return reconcile.Result{}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- l.Run(ctx) }()
		l.Add("a")
		for range 2 {
			if key := <-calls; key != "a" {
				t.Errorf("key %s is reconciled", key)
			}
		}
		begin := time.Now()
		l.AddAt("b", begin.Add(time.Hour))
		l.AddAt("c", time.Time{})
		if key := <-calls; key != "b" || time.Since(begin) != time.Hour {
			t.Errorf("key %s is reconciled after %s", key, time.Since(begin))
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		l.Close()
	})
}
