// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// settleTime is how long the set of drivers must stay the same before it is written: a
// driver that restarts, or an agent that has just begun, is no news.
const settleTime = 5 * time.Second

// retryTime is when a write that has failed is tried again.
const retryTime = 30 * time.Second

// registered says on the Node which drivers are registered. It writes when the set has
// changed and stays so, and at rest not at all. When the agent ends, what it has said stays.
type registered struct {
	clock   clock.WithTicker
	names   func() []string
	write   func(context.Context, []string) error
	changed chan struct{}
}

func newRegistered(clock clock.WithTicker, names func() []string, write func(context.Context, []string) error) *registered {
	return &registered{clock: clock, names: names, write: write, changed: make(chan struct{}, 1)}
}

// look is called when the set may have changed. It does not block.
func (r *registered) look() {
	select {
	case r.changed <- struct{}{}:
	default: // somebody has said so already
	}
}

// Start goes on until ctx ends.
func (r *registered) Start(ctx context.Context) error {
	timer := r.clock.NewTimer(settleTime)
	defer timer.Stop()
	var said []string
	written := false
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-r.changed:
			timer.Reset(settleTime)
		case <-timer.C():
			// A driver that comes to rest, or is called, is a change that leaves the set as it is.
			names := r.names()
			if written && slices.Equal(said, names) {
				continue
			}
			err := r.write(ctx, names)
			said, written = names, err == nil
			if err != nil && ctx.Err() == nil {
				log.FromContext(ctx).Info("The Node does not say which drivers are registered; trying again", "reason", err.Error())
				timer.Reset(retryTime)
			}
		}
	}
}
