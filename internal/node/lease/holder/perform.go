// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/nodelease"
)

// perform does one step.
func (h *Holder) perform(ctx context.Context, facts leases.Facts, step leases.Step) (err error) {
	if irrevocable(step) {
		if step, err = h.confirm(ctx, facts.NodeName, step); err != nil {
			return err
		}
	}
	switch s := step.(type) {
	case leases.Acquire:
		return h.take(ctx, facts, s.Lease, s.Purpose, "Took the lease")
	case leases.Renew:
		return h.take(ctx, facts, s.Lease, s.Purpose, "Renewed the lease")
	case leases.Release:
		return h.release(ctx, s.Lease)
	case leases.Mirror:
		return h.Writer(facts.NodeName).SetLease(ctx, s.Value)
	case leases.WriteStatus:
		return h.writeStatus(ctx, facts.NodeName, s)
	case leases.RemoveGate:
		log.FromContext(ctx).Info("Let pass with the lease", "event", s.Event.Name)
		return reach(faultpoint.LeaseGateRemoved, h.Recorder.RemoveGate(ctx, s.Event, lifecyclev1alpha1.GateLease))
	default:
		return fmt.Errorf("no way to perform a %T", step)
	}
}

// irrevocable steps let an event pass, or others at the node.
func irrevocable(step leases.Step) bool {
	switch step.(type) {
	case leases.RemoveGate, leases.Release:
		return true
	default:
		return false
	}
}

// confirm decides a step again that cannot be taken back, on what the API server has now,
// and returns it as it is by that. Caches may be late: a cordon may not show yet.
func (h *Holder) confirm(ctx context.Context, node string, step leases.Step) (leases.Step, error) {
	facts, err := h.gather(ctx, h.Live, node)
	if err != nil {
		return nil, err
	}
	fresh := leases.Next(facts, h.Clock.Now()).Step
	if subject(fresh) != subject(step) {
		return nil, fmt.Errorf("%s: %w", subject(step), record.ErrStale)
	}
	return fresh, nil
}

// subject is the same for two steps that do the same.
func subject(step leases.Step) string {
	if s, ok := step.(leases.RemoveGate); ok {
		return fmt.Sprintf("let pass event %s", s.Event.UID)
	}
	return fmt.Sprintf("%T", step)
}

// take writes the lease as ours, if it is as it was seen.
func (h *Holder) take(ctx context.Context, facts leases.Facts, seen *coordinationv1.Lease, purpose, said string) (err error) {
	lease := nodelease.Take(seen, facts.Node, nodelease.Slipway, purpose, leases.Duration, h.Clock.Now())
	if seen == nil {
		_, err = h.Leases.Create(ctx, lease, metav1.CreateOptions{})
	} else {
		_, err = h.Leases.Update(ctx, lease, metav1.UpdateOptions{})
	}
	if err = stale("take", lease, err); err == nil {
		log.FromContext(ctx).V(1).Info(said, "purpose", purpose)
	}
	return reach(faultpoint.LeaseTaken, err)
}

// release gives back a lease of ours.
func (h *Holder) release(ctx context.Context, seen *coordinationv1.Lease) error {
	_, err := h.Leases.Update(ctx, nodelease.Give(seen, h.Clock.Now()), metav1.UpdateOptions{})
	if err = stale("give back", seen, err); err == nil {
		log.FromContext(ctx).V(1).Info("Gave the lease back")
	}
	return reach(faultpoint.LeaseReleased, err)
}

// writeStatus writes a status, and tells about it.
func (h *Holder) writeStatus(ctx context.Context, node string, s leases.WriteStatus) error {
	if _, err := h.Recorder.WriteStatus(ctx, s.Event, s.Status); err != nil {
		return err
	}
	h.Observer.Node(node).Wrote(s.Event, s.Status, h.Clock.Now())
	return nil
}

// stale says that somebody else was faster: then it is looked again.
func stale(verb string, lease *coordinationv1.Lease, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err):
		return fmt.Errorf("%s the lease of node %s: %w", verb, lease.Name, record.ErrStale)
	default:
		return fmt.Errorf("%s the lease of node %s: %w", verb, lease.Name, err)
	}
}

func reach(point string, err error) error {
	if err == nil {
		faultpoint.Reach(point)
	}
	return err
}
