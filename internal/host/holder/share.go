// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/host/keeper"
)

// findKeeper connects to the keeper, if it is not connected, and has both have one lock: ours,
// or, where there is none, what the keeper has kept. retry: it was not found.
func (h *holder) findKeeper(ctx context.Context) (retry bool) {
	if h.options.Keeper == "" || h.keeper != nil {
		return false
	}
	logger := log.FromContext(ctx)
	conn, lock, err := keeper.Connect(ctx, h.options.Keeper)
	if err != nil {
		if !h.alone {
			logger.Info("Nobody keeps the lock besides this process", "reason", err.Error())
		}
		h.alone = true
		return true
	}
	h.keeper, h.alone = conn, false
	switch {
	case h.lock != nil:
		h.share(ctx)
		if lock != nil {
			_ = lock.Close() // ours is kept from now on
		}
	case lock != nil: // of a shutdown that was called off, too: it holds the next one
		h.lock = lock
		logger.Info("Goes on with the lock that the keeper has kept")
	}
	return false
}

// share has the keeper keep the lock. One that cannot has gone, and is looked for again.
func (h *holder) share(ctx context.Context) {
	if h.keeper == nil {
		return
	}
	if err := h.keeper.Keep(h.lock); err != nil {
		log.FromContext(ctx).Info("The keeper has gone", "reason", err.Error())
	}
}

// letKeeperBe ends the connection. The keeper keeps what it has.
func (h *holder) letKeeperBe() {
	if h.keeper != nil {
		h.keeper.Close()
		h.keeper = nil
	}
}
