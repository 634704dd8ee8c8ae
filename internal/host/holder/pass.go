// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/host/logind"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// pass does one step, if there is one. It returns when the next pass comes without being asked
// for; zero: not at all.
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

// askLogind asks whether a shutdown goes on, and notes when it has begun.
func (h *holder) askLogind(ctx context.Context) error {
	preparing, err := h.bus.Preparing(ctx)
	if err != nil {
		return err
	}
	switch {
	case !preparing:
		h.begun, h.told = time.Time{}, false
	case !h.known:
		h.told = true // before this process was there
	case !h.preparing:
		h.begun = h.clock.Now()
		log.FromContext(ctx).Info("A shutdown has begun")
	}
	h.known, h.preparing = true, preparing
	return nil
}

// heard is told of a signal of logind, and whether it says that a shutdown begins. If one does after
// the one that goes on, as far as is known, had begun, that was called off, which nobody was told of.
func (h *holder) heard(ctx context.Context, begins bool) {
	if !begins {
		return
	}
	if h.preparing && h.told {
		log.FromContext(ctx).Info("Another shutdown has begun: the one before was called off")
		h.begun = h.clock.Now()
	}
	h.told = true
}

func (h *holder) gather(ctx context.Context) (facts shutdown.HostFacts, err error) {
	facts = shutdown.HostFacts{BootID: h.bootID, Preparing: h.preparing, Begun: h.begun, Locked: h.lock != nil, Refused: h.refused}
	if facts.DelayMax, err = h.bus.DelayMax(ctx); err != nil {
		return facts, err
	}
	h.metrics.Delay(facts.DelayMax)
	if h.preparing {
		if facts.Stopping, err = h.bus.Stopping(ctx); err != nil {
			log.FromContext(ctx).V(1).Info("Nobody says whether the machine is being stopped", "reason", err.Error())
			facts.Stopping = true
		}
	}
	server := h.server.Load()
	if server == nil {
		return facts, nil
	}
	var node corev1.Node
	switch err := server.cached.Get(ctx, client.ObjectKey{Name: h.options.NodeName}, &node); {
	case apierrors.IsNotFound(err):
		return facts, nil
	case err != nil:
		return facts, fmt.Errorf("read node %s: %w", h.options.NodeName, err)
	}
	facts.Node = &node
	return facts, nil
}

// perform does a step.
func (h *holder) perform(ctx context.Context, step shutdown.HostStep) error {
	logger := log.FromContext(ctx)
	switch s := step.(type) {
	case shutdown.TakeLock:
		return h.takeLock(ctx)
	case shutdown.ReportDelay:
		return h.sayDelay(ctx, s.Delay)
	case shutdown.Announce:
		text, err := s.Announcement.Text()
		if err != nil {
			return err
		}
		if err := h.server.Load().node.AnnounceShutdown(ctx, text, s.Condition); err != nil {
			return err
		}
		if h.begun.IsZero() { // until the watch shows it, the same is to be said
			h.begun = s.Announcement.Since.Add(-time.Microsecond)
		}
		logger.Info("Announced", "until", s.Announcement.Until)
		faultpoint.Reach(faultpoint.ShutdownAnnounced)
		return nil
	case shutdown.Withdraw:
		if err := h.server.Load().node.AnnounceShutdown(ctx, "", s.Condition); err != nil {
			return err
		}
		logger.Info("Withdrawn: the shutdown was called off")
		return nil
	case shutdown.ReleaseLock:
		logger.Info("Letting the machine go: the node is drained", "event", s.Event)
		return h.releaseLock()
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

// sayDelay says on the Node how long logind waits. Less than drains take is nothing that this
// process could mend, and nobody would notice before a machine goes down half drained.
func (h *holder) sayDelay(ctx context.Context, delay time.Duration) error {
	if err := h.server.Load().node.ReportShutdownDelay(ctx, delay); err != nil {
		return err
	}
	logger := log.FromContext(ctx).WithValues("delay", delay.String())
	if delay < shutdown.ShortDelay {
		logger.Info("WARNING: logind lets a shutdown be delayed for too short a time: machines go down half drained. " +
			"Set InhibitDelayMaxSec in /etc/systemd/logind.conf.d, and restart systemd-logind")
		return nil
	}
	logger.Info("Said how long logind lets a shutdown be delayed")
	return nil
}

// takeLock takes a lock, and has the keeper keep it too.
func (h *holder) takeLock(ctx context.Context) error {
	lock, err := h.bus.Inhibit(ctx, "slipway-host", "the node is drained before its machine goes down")
	h.refused = err != nil
	if errors.Is(err, logind.ErrInProgress) {
		return nil // the next pass sees it
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

// releaseLock closes the lock, everywhere.
func (h *holder) releaseLock() error {
	lock := h.lock
	h.lock = nil
	err := lock.Close()
	if h.keeper != nil {
		err = errors.Join(err, h.keeper.Drop())
	}
	return err
}
