// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"k8s.io/utils/clock"
)

// releaseTimeout is how long giving back may take, when the work is over. It is not cut off
// when the process ends: who waits for the node waits for this.
const releaseTimeout = 10 * time.Second

// Keep acquires the lease, runs fn while it keeps it, and gives it back when fn is done. If
// somebody else holds it, fn is not run, and the error is a [*TakenError].
//
// It renews at a third of d, and more often when that fails. If the lease expires before it
// could be renewed, or was taken away, the context of fn is canceled with a cause that is
// [ErrLost]: fn must stop at once, as somebody else may begin. What Keep returns then is both
// that and what fn returns. Choose d so that fn can stop within [Skew], and so that an outage
// of the API server of two thirds of d does no harm.
func (c *Client) Keep(ctx context.Context, node, holder, purpose string, d time.Duration, fn func(context.Context) error) error {
	held, err := c.Acquire(ctx, node, holder, purpose, d)
	if err != nil {
		return err
	}
	if held.Administrator {
		d = MaxDuration // renewed all the same: that is how it is found out that it was broken
	}
	k := keeper{clock: c.clock, every: d / 3, renew: func(ctx context.Context) (Held, error) {
		return c.Renew(ctx, node, holder, purpose, d)
	}}
	lost, err := k.during(ctx, held, fn)
	if lost != nil {
		return errors.Join(err, fmt.Errorf("keep the lease of node %s: %w", node, lost))
	}
	ending, stop := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer stop()
	return errors.Join(err, c.Release(ending, node, holder))
}

// keeper renews a lease while somebody works.
type keeper struct {
	clock clock.Clock
	every time.Duration
	renew func(context.Context) (Held, error)
}

// again is in how many parts the time between two renewals is cut after one that failed.
const again = 4

// during runs fn and renews until it returns, also while it winds up after ctx is done. Lost
// is why the lease was lost.
func (k keeper) during(ctx context.Context, held Held, fn func(context.Context) error) (lost, err error) {
	working, stopWork := context.WithCancelCause(ctx)
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() {
		lost = k.untilLost(keeping, held)
		stopWork(lost)
	})
	// Also when fn panics: nobody is to renew for a work that is over.
	defer renewing.Wait()
	defer stopKeeping()
	err = fn(working)
	stopKeeping()
	renewing.Wait()
	return lost, err
}

// answer is what a renewal gave.
type answer struct {
	held Held
	err  error
}

// untilLost renews until the context is done, or the lease is lost, and says why it is.
func (k keeper) untilLost(ctx context.Context, held Held) error {
	ctx, stop := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop() // a request that hangs goes on no longer than the lease

	answers := make(chan answer, 1)
	expiry, next := k.clock.NewTimer(k.left(held)), k.clock.NewTimer(k.every)
	defer func() { expiry.Stop(); next.Stop() }()
	last := errors.New("the API server has not answered")
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-expiry.C():
			return fmt.Errorf("%w: it has expired: %w", ErrLost, last)
		case <-next.C():
			asking.Go(func() {
				held, err := k.renew(ctx)
				answers <- answer{held, err}
			})
		case a := <-answers:
			switch {
			case a.err == nil:
				expiry.Stop()
				expiry = k.clock.NewTimer(k.left(a.held))
				next.Reset(k.every)
			case errors.Is(a.err, ErrNotHolder):
				return fmt.Errorf("%w: %w", ErrLost, a.err)
			default:
				last = a.err
				next.Reset(k.every / again)
			}
		}
	}
}

// left is how long the holder may count on the lease from now on.
func (k keeper) left(held Held) time.Duration {
	if held.Until.IsZero() {
		return math.MaxInt64 // for ever
	}
	return held.Until.Sub(k.clock.Now())
}
