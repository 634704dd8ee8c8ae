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

// again is when something is tried again that failed, or of which the watch shows nothing.
const again = time.Second

// errBusGone means that the process cannot see shutdowns any more. What has a lock keeps it.
var errBusGone = errors.New("the connection to the system bus has ended")

// holder holds the shutdowns of a machine. All but server, begins, asked and held is its loop's.
type holder struct {
	options Options
	bootID  string
	bus     *logind.Manager
	server  atomic.Pointer[apiServer] // nil: it has not answered yet
	clock   clock.WithTicker
	well    *health.Process
	metrics *telemetry.Host

	begins chan struct{} // closed by begin
	begin  func()
	asked  chan struct{} // somebody wants a pass
	held   atomic.Bool   // there is a lock, or none is wanted

	known     bool      // whether preparing was ever asked
	preparing bool      // a shutdown goes on, when logind was asked last
	begun     time.Time // see shutdown.HostFacts
	told      bool      // the signal of its beginning has come
	lock      *os.File  // nil: none
	refused   bool      // logind has refused one when it was asked last
	keeper    *keeper.Conn
	alone     bool // it was said that there is no keeper
}

func newHolder(options Options, bootID string, bus *logind.Manager, well *health.Process, clock clock.WithTicker) *holder {
	h := &holder{options: options, bootID: bootID, bus: bus, clock: clock, well: well, begins: make(chan struct{}), asked: make(chan struct{}, 1)}
	h.begin = sync.OnceFunc(func() { close(h.begins) })
	return h
}

// look asks for a pass.
func (h *holder) look() {
	select {
	case h.asked <- struct{}{}:
	default: // one is asked for already
	}
}

// unlocked says whether a shutdown would not wait for this machine's pods.
func (h *holder) unlocked() error {
	if !h.held.Load() {
		return errors.New("there is no lock of logind: a shutdown would not wait for pods")
	}
	return nil
}

// Start makes a pass whenever something has changed, from when it may begin until ctx ends.
func (h *holder) Start(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-h.begins:
	}
	defer h.letKeeperBe()
	timer := h.clock.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.bus.Done():
			return errBusGone
		case signal := <-h.bus.Changed():
			h.heard(ctx, logind.Begins(signal))
		case <-h.asked:
		case <-h.keeperGone():
			h.letKeeperBe()
		case <-timer.C():
		}
		if next := h.passes(ctx); !next.IsZero() {
			timer.Reset(next.Sub(h.clock.Now()))
		}
	}
}

// passes does what there is to do, and returns when to look again, as pass does.
func (h *holder) passes(ctx context.Context) time.Time {
	defer h.well.Pass("shutdowns")()
	next, err := h.pass(ctx)
	if err != nil && ctx.Err() == nil {
		log.FromContext(ctx).Error(err, "It is tried again")
		return h.clock.Now().Add(again)
	}
	return next
}

func (h *holder) keeperGone() <-chan struct{} {
	if h.keeper == nil {
		return nil
	}
	return h.keeper.Gone()
}

// close ends what is not the keeper's.
func (h *holder) close() error {
	err := h.bus.Close()
	if h.lock != nil {
		err = errors.Join(err, h.lock.Close())
	}
	return err
}
