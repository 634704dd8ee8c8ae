// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"time"

	"k8s.io/utils/clock"
)

// A screen is brought up to date when something changes, but not more often than a person
// can see; and each second, for the times on it.
const (
	atLeastEvery = time.Second
	atMostEvery  = 100 * time.Millisecond
)

// Pause waits between two looks at what is followed: for a moment in any case, then until
// something changes or the times that are shown are wrong. An error is that ctx has ended.
func Pause(ctx context.Context, clock clock.Clock, changed <-chan struct{}) error {
	if err := wait(ctx, clock, atMostEvery, nil); err != nil {
		return err
	}
	return wait(ctx, clock, atLeastEvery-atMostEvery, changed)
}

func wait(ctx context.Context, clock clock.Clock, length time.Duration, wake <-chan struct{}) error {
	timer := clock.NewTimer(length)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C():
	case <-wake:
	}
	return nil
}
