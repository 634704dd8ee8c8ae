// SPDX-License-Identifier: Apache-2.0

package drain_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/slipway-k8s/slipway/drain"
)

// throttled lets a Drainer send one eviction every ten seconds, and counts how often it asks to. More than a few times
// would be a loop that takes no time, which would never end here: then everything is stopped.
func throttled(d *drain.Drainer, stop context.CancelFunc) *atomic.Int32 {
	limiter, asked := flowcontrol.NewTokenBucketRateLimiter(0.1, 1), &atomic.Int32{}
	d.Throttle(func(ctx context.Context) error {
		if asked.Add(1) > 20 {
			stop()
		}
		return limiter.Wait(ctx)
	})
	return asked
}

// The rate limiter gives up at once where its turn would come after the deadline of who waits.
func TestADrainWithADeadlineWaitsForTheRateLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakeNode(), fakePod("a"), fakePod("b"), fakePod("c"))
		ctx, stop := context.WithTimeout(t.Context(), 15*time.Second)
		defer stop()
		d, began := newDrainer(t, s), time.Now()
		waits := throttled(d, stop)
		if err := d.Drain(ctx, drain.Request{NodeName: "w1"}, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of its time", err)
		}
		if took := time.Since(began); took != 15*time.Second {
			t.Errorf("it took %s", took)
		}
		if n := waits.Load(); n != 3 || len(s.evictions()) != 2 {
			t.Errorf("waited %d times for the limit and sent %d evictions, want 3 and 2", n, len(s.evictions()))
		}
	})
}

// A caller with little time must not cost the others theirs.
func TestACallerWithADeadlineWaitsForTheRateLimitAndHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newFakeServer(t, fakePod("a"), fakePod("b"), fakePod("c"))
		d, began := newDrainer(t, s), time.Now()
		ctx, stop := context.WithTimeout(t.Context(), 5*time.Second)
		defer stop()
		throttled(d, stop)
		a := startEvicting(t, d, "a")
		if err := a.end(); err != nil {
			t.Fatal(err)
		}
		b := startEvicting(t, d, "b")
		pass(time.Second)
		if err := d.EvictPod(ctx, types.NamespacedName{Namespace: "default", Name: "c"}, "uid-c", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the end of its time", err)
		}
		if err := b.end(); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 11*time.Second {
			t.Errorf("the other was held up: it took %s", took)
		}
		if n := len(s.evictions()); n != 2 {
			t.Errorf("sent %d evictions, want 2", n)
		}
	})
}
