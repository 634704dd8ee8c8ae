// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/host/keeper"
	"github.com/slipway-k8s/slipway/internal/host/logind"
	"github.com/slipway-k8s/slipway/internal/platform/health"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// again is the delay of another attempt after a failure, and of another look if the watch shows no change.
const again = time.Second

// errBusGone means that the process cannot see shutdowns any longer. The keeper keeps its lock.
var errBusGone = errors.New("the connection to the system bus has ended")

// holder delays the shutdowns of a machine. Its loop owns all fields except server, begins, wanted and held.
type holder struct {
	options Options
	bootID  string
	bus     *logind.Manager
	server  atomic.Pointer[apiServer] // nil before its first answer
	clock   clock.WithTicker
	well    *health.Process
	metrics *telemetry.Host

	begins chan struct{} // closed by begin
	begin  func()
	wanted chan struct{} // receives when a pass is wanted
	held   atomic.Bool   // true with a lock, or during a shutdown

	known     bool      // logind has answered once
	preparing bool      // logind's last answer: a shutdown runs
	begun     time.Time // see shutdown.HostFacts
	signaled  bool      // logind has signaled the beginning
	lock      *os.File  // nil without a lock
	refused   bool      // logind has refused the last request for a lock
	keeper    *keeper.Conn
	alone     bool // the missing keeper is logged
}

func newHolder(options Options, bootID string, bus *logind.Manager, well *health.Process, clock clock.WithTicker) *holder {
	h := &holder{options: options, bootID: bootID, bus: bus, clock: clock, well: well, begins: make(chan struct{}), wanted: make(chan struct{}, 1)}
	h.begin = sync.OnceFunc(func() { close(h.begins) })
	return h
}

// look requests a pass.
func (h *holder) look() {
	select {
	case h.wanted <- struct{}{}:
	default: // a pass is requested already
	}
}

// unlocked returns an error if a shutdown would not wait for this machine's pods.
func (h *holder) unlocked() error {
	if !h.held.Load() {
		return errors.New("the process has no lock of logind: a shutdown would not wait for pods")
	}
	return nil
}

// Start makes a pass after each change, from begin until ctx ends.
func (h *holder) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.begins:
	}
	defer h.leaveKeeper()
	timer := h.clock.NewTimer(0)
	defer timer.Stop()
	for {
		var keeperGone <-chan struct{}
		if h.keeper != nil {
			keeperGone = h.keeper.Gone()
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.bus.Done():
			return errBusGone
		case signal := <-h.bus.Changed():
			h.heard(ctx, logind.Begins(signal))
		case <-h.wanted:
		case <-keeperGone:
			h.leaveKeeper()
		case <-timer.C():
		}
		if next := h.passes(ctx); !next.IsZero() {
			timer.Reset(next.Sub(h.clock.Now()))
		}
	}
}

// passes makes a pass, and returns the time of the next one, as pass does.
func (h *holder) passes(ctx context.Context) time.Time {
	defer h.well.Pass("shutdowns")()
	next, err := h.pass(ctx)
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "Trying again")
		return h.clock.Now().Add(again)
	}
	return next
}

// close ends the connections and the lock of this process. The keeper keeps its lock.
func (h *holder) close() error {
	err := h.bus.Close()
	if h.lock != nil {
		err = errors.Join(err, h.lock.Close())
	}
	return err
}

// findKeeper connects to the keeper. Then both have the same lock: the lock of this process, or the keeper's lock.
// retry means that the keeper was not found.
func (h *holder) findKeeper(ctx context.Context) (retry bool) {
	if h.options.Keeper == "" || h.keeper != nil {
		return false
	}
	logger := log.FromContext(ctx)
	conn, lock, err := keeper.Connect(ctx, h.options.Keeper)
	if err != nil {
		if !h.alone {
			logger.Info("Only this process keeps the lock", "reason", err.Error())
		}
		h.alone = true
		return true
	}
	h.keeper, h.alone = conn, false
	switch {
	case h.lock != nil:
		h.share(ctx)
		if lock != nil {
			_ = lock.Close() // the keeper has the lock of this process now
		}
	case lock != nil: // even the lock of a canceled shutdown delays the next one
		h.lock = lock
		logger.Info("Continues with the keeper's lock")
	}
	return false
}

// share gives the lock to the keeper. A failed keeper is found again later.
func (h *holder) share(ctx context.Context) {
	if h.keeper == nil {
		return
	}
	if err := h.keeper.Keep(h.lock); err != nil {
		log.FromContext(ctx).Info("The keeper has ended", "reason", err.Error())
	}
}

// leaveKeeper ends the connection. The keeper keeps its lock.
func (h *holder) leaveKeeper() {
	if h.keeper != nil {
		h.keeper.Close()
		h.keeper = nil
	}
}
