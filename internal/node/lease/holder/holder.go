// SPDX-License-Identifier: Apache-2.0

package holder

import (
	"context"
	"errors"
	"fmt"
	"time"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/telemetry"
)

// afterStep is when a pass comes that nothing has asked for: the watches show what a
// step has written, and wake, but they may be late.
const afterStep = time.Second

// Options are what a Holder works with.
type Options struct {
	// Cached reads what the process watches; Live asks the API server.
	Cached, Live client.Reader
	// Leases are those of nodelease.Namespace.
	Leases coordinationclient.LeaseInterface
	// Recorder writes events, and Writer the Node of that name.
	Recorder *record.Recorder
	Writer   func(node string) *nodestate.Writer
	Observer *telemetry.Source
	Clock    clock.PassiveClock
}

// Holder keeps the leases of nodes. It remembers nothing: who begins to lead goes on.
type Holder struct{ Options }

// New returns a Holder, which does something when it is asked to look at a node.
func New(options Options) *Holder { return &Holder{options} }

// Reconcile does one step for a node, if there is one. What it writes wakes it again.
func (h *Holder) Reconcile(ctx context.Context, node string) (reconcile.Result, error) {
	now := h.Clock.Now()
	facts, err := h.gather(ctx, h.Cached, node)
	if err != nil {
		return reconcile.Result{}, err
	}
	decision := leases.Next(facts, now)
	if decision.Step == nil {
		if decision.Wake.IsZero() {
			return reconcile.Result{}, nil
		}
		return reconcile.Result{RequeueAfter: max(decision.Wake.Sub(now), time.Millisecond)}, nil
	}
	err = h.perform(ctx, facts, decision.Step)
	if errors.Is(err, record.ErrStale) {
		log.FromContext(ctx).V(2).Info("Looking again", "reason", err.Error())
	} else if err != nil {
		return reconcile.Result{}, fmt.Errorf("node %s: %w", node, err)
	}
	return reconcile.Result{RequeueAfter: afterStep}, nil
}
