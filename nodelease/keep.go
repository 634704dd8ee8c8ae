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

// releaseTimeout limits the release after the work. The end of the process does not abort it:
// other tools wait for the release.
const releaseTimeout = 10 * time.Second

// Keep acquires the lease, runs fn while it keeps the lease, and releases it after fn has
// returned. If another holder has the lease, Keep does not run fn, and the error is a
// [*TakenError].
//
// Keep renews at a third of d, and more often after failures. If the lease expires before a
// renewal succeeds, or another client has taken it, Keep cancels the context of fn with a cause
// that is [ErrLost]: fn must stop at once, because another holder may begin. Keep then returns
// this error joined with the error of fn. Choose d so that fn can stop within [Skew], and so
// that an outage of the API server for two thirds of d causes no harm.
func (c *Client) Keep(ctx context.Context, node, holder, purpose string, d time.Duration, fn func(context.Context) error) error {
	held, err := c.Acquire(ctx, node, holder, purpose, d)
	if err != nil {
		return err
	}
	if held.Administrator {
		d = MaxDuration // renewed nevertheless, to detect a broken lease
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

// keeper renews a lease during the work.
type keeper struct {
	clock clock.Clock
	every time.Duration
	renew func(context.Context) (Held, error)
}

// again is the number of attempts, after a failed renewal, in the time between two renewals.
const again = 4

// during runs fn and renews until fn returns, also during its cleanup after the end of ctx.
// Lost is the cause of a lost lease.
func (k keeper) during(ctx context.Context, held Held, fn func(context.Context) error) (lost, err error) {
	working, stopWork := context.WithCancelCause(ctx)
	keeping, stopKeeping := context.WithCancel(context.WithoutCancel(ctx))
	var renewing sync.WaitGroup
	renewing.Go(func() {
		lost = k.untilLost(keeping, held)
		stopWork(lost)
	})
	// The renewal must also end when fn panics.
	defer renewing.Wait()
	defer stopKeeping()
	err = fn(working)
	stopKeeping()
	renewing.Wait()
	return lost, err
}

// answer is the result of a renewal.
type answer struct {
	held Held
	err  error
}

// untilLost renews until the context ends or the lease is lost, and returns the cause.
func (k keeper) untilLost(ctx context.Context, held Held) error {
	ctx, stop := context.WithCancel(ctx)
	var asking sync.WaitGroup
	defer asking.Wait()
	defer stop() // a hanging request ends with the lease

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

// left returns the remaining time for which the holder may rely on the lease.
func (k keeper) left(held Held) time.Duration {
	if held.Until.IsZero() {
		return math.MaxInt64 // no limit
	}
	return held.Until.Sub(k.clock.Now())
}
