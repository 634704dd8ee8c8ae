// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"slices"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// settleTime is the time for which the set of drivers must stay the same before the agent
// writes it. Restarts of a driver or of the agent then cause no write.
const settleTime = 5 * time.Second

// retryTime is the delay after a failed write.
const retryTime = 30 * time.Second

// registered lists the registered drivers on the Node. The list stays after the end of the
// agent.
type registered struct {
	clock clock.PassiveClock
	names func() []string
	// write writes the list, unless the Node has it.
	write func(context.Context, []string) error

	seen    []string
	since   time.Time // of seen
	written bool
}

// Reconcile runs after each change of the registry.
func (r *registered) Reconcile(ctx context.Context, _ string) (reconcile.Result, error) {
	now, names := r.clock.Now(), r.names()
	if r.since.IsZero() || !slices.Equal(r.seen, names) {
		r.seen, r.since, r.written = names, now, false
	}
	if r.written {
		return reconcile.Result{}, nil
	}
	if wait := r.since.Add(settleTime).Sub(now); wait > 0 {
		return reconcile.Result{RequeueAfter: wait}, nil
	}
	if err := r.write(ctx, names); err != nil {
		log.FromContext(ctx).Info("The agent could not list the registered drivers on the Node; trying again", "reason", err.Error())
		return reconcile.Result{RequeueAfter: retryTime}, nil
	}
	r.written = true
	return reconcile.Result{}, nil
}
