// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/host/logind"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// pass performs at most one step. It returns the time of the next pass without a change; zero for never.
func (h *holder) pass(ctx context.Context) (next time.Time, err error) {
	if err := h.askLogind(ctx); err != nil {
		return next, err
	}
	soon := h.clock.Now().Add(again)
	if h.findKeeper(ctx) {
		next = soon
	}
	facts, err := h.gather(ctx)
	if err != nil {
		return next, err
	}
	h.held.Store(facts.Locked || facts.Preparing)
	switch d := shutdown.Hold(facts, h.clock.Now()); {
	case d.Step != nil:
		return soon, h.perform(ctx, d.Step)
	case next.IsZero():
		return d.Wake, nil
	default:
		return next, nil
	}
}

// askLogind asks logind for a running shutdown, and records its beginning.
func (h *holder) askLogind(ctx context.Context) error {
	preparing, err := h.bus.Preparing(ctx)
	if err != nil {
		return err
	}
	switch {
	case !preparing:
		h.begun, h.signaled = time.Time{}, false
	case !h.known:
		h.signaled = true // before the start of this process
	case !h.preparing:
		h.begun = h.clock.Now()
		log.FromContext(ctx).Info("A shutdown has begun")
	}
	h.known, h.preparing = true, preparing
	return nil
}

// heard processes a signal of logind. A second signal of a beginning means that the shutdown before was canceled, which
// logind does not signal.
func (h *holder) heard(ctx context.Context, begins bool) {
	if !begins {
		return
	}
	if h.preparing && h.signaled {
		log.FromContext(ctx).Info("Another shutdown has begun: the shutdown before was canceled")
		h.begun = h.clock.Now()
	}
	h.signaled = true
}

func (h *holder) gather(ctx context.Context) (facts shutdown.HostFacts, err error) {
	facts = shutdown.HostFacts{BootID: h.bootID, Preparing: h.preparing, Begun: h.begun, Locked: h.lock != nil, Refused: h.refused}
	if facts.DelayMax, err = h.bus.DelayMax(ctx); err != nil {
		return facts, err
	}
	h.metrics.Delay(facts.DelayMax)
	if h.preparing {
		if facts.Stopping, err = h.bus.Stopping(ctx); err != nil {
			log.FromContext(ctx).V(1).Info("Cannot read whether systemd stops the machine", "reason", err.Error())
			facts.Stopping = true
		}
	}
	if server := h.server.Load(); server != nil {
		if facts.Node, err = server.read(); err != nil {
			return facts, fmt.Errorf("read node %s: %w", h.options.NodeName, err)
		}
	}
	return facts, nil
}

// perform performs a step.
func (h *holder) perform(ctx context.Context, step shutdown.HostStep) error {
	logger := log.FromContext(ctx)
	switch s := step.(type) {
	case shutdown.TakeLock:
		return h.takeLock(ctx)
	case shutdown.ReportDelay:
		return h.reportDelay(ctx, s.Delay)
	case shutdown.Announce:
		text, err := s.Announcement.Text()
		if err != nil {
			return err
		}
		if err := h.announce(ctx, text, s.Condition); err != nil {
			return err
		}
		if h.begun.IsZero() { // the next announcement must be the same until the watch shows this one
			h.begun = s.Announcement.Since.Add(-time.Microsecond)
		}
		logger.Info("Announced", "until", s.Announcement.Until)
		faultpoint.Reach(faultpoint.ShutdownAnnounced)
		return nil
	case shutdown.Withdraw:
		if err := h.announce(ctx, "", s.Condition); err != nil {
			return err
		}
		logger.Info("Withdrawn: the shutdown was canceled")
		return nil
	case shutdown.ReleaseLock:
		logger.Info("Releasing the machine: the node is drained", "event", s.Event)
		return h.releaseLock()
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

func (h *holder) announce(ctx context.Context, text string, condition corev1.NodeCondition) error {
	return h.server.Load().node.AnnounceShutdown(ctx, text, condition)
}

// reportDelay records logind's maximum delay on the Node. This process cannot extend a short delay, and an
// administrator would notice it only after a machine has stopped before the end of its drain.
func (h *holder) reportDelay(ctx context.Context, delay time.Duration) error {
	if err := h.server.Load().node.ReportShutdownDelay(ctx, delay); err != nil {
		return err
	}
	logger := log.FromContext(ctx).WithValues("delay", delay.String())
	if delay < shutdown.ShortDelay {
		logger.Info("WARNING: logind delays a shutdown for too short a time: machines stop before the end of their drains. " +
			"Set InhibitDelayMaxSec in /etc/systemd/logind.conf.d, and restart systemd-logind")
		return nil
	}
	logger.Info("Recorded logind's maximum delay of a shutdown")
	return nil
}

// takeLock takes a lock, and shares it with the keeper.
func (h *holder) takeLock(ctx context.Context) error {
	lock, err := h.bus.Inhibit(ctx, "slipway-host", "the node is drained before its machine goes down")
	h.refused = err != nil
	if errors.Is(err, logind.ErrInProgress) {
		return nil // the next pass sees the shutdown
	}
	if err != nil {
		return err
	}
	h.lock = lock
	h.held.Store(true)
	h.share(ctx)
	log.FromContext(ctx).Info("Took a lock of logind")
	return nil
}

// releaseLock closes the lock in both processes.
func (h *holder) releaseLock() error {
	lock := h.lock
	h.lock = nil
	err := lock.Close()
	if h.keeper != nil {
		err = errors.Join(err, h.keeper.Drop())
	}
	return err
}
