// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	shutdowncontroller "github.com/slipway-k8s/slipway/internal/node/shutdown/controller"
)

// addShutdowns makes the leader have the nodes drained whose machines are being shut down.
// Without slipway-host on the nodes, none is announced, and it does nothing.
func (p *process) addShutdowns() error {
	shepherd := shutdowncontroller.New(shutdowncontroller.Options{
		Cached: p.manager.GetCache(), Live: p.manager.GetAPIReader(),
		Recorder: record.New(p.manager.GetClient()), Writer: p.writer, Ended: p.observer.ShutdownEnded, Clock: p.clock,
	})
	c, err := controller.NewTyped("shutdowns", p.manager, controller.TypedOptions[string]{
		Reconciler:              p.health.Loop(shepherd),
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[string](errorBackoffBase, errorBackoffCap),
	})
	if err != nil {
		return fmt.Errorf("build what looks after shutdowns: %w", err)
	}
	var errs []error
	for _, s := range shutdowncontroller.Sources(p.manager.GetCache()) {
		errs = append(errs, c.Watch(s))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("build what looks after shutdowns: %w", err)
	}
	return nil
}
