// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"

	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent/record"
	leaseholder "github.com/slipway-k8s/slipway/internal/node/lease/holder"
	"github.com/slipway-k8s/slipway/nodelease"
)

// addLeaseholder makes the leader keep the leases of the nodes that Slipway works on.
func (p *process) addLeaseholder(leases coordinationclient.LeasesGetter) error {
	holder := leaseholder.New(leaseholder.Options{
		Cached: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Leases: leases.Leases(nodelease.Namespace),
		Recorder: record.New(p.manager.GetClient()), Writer: p.writer, Observer: p.observer, Clock: p.clock,
	})
	c, err := controller.NewTyped("leases", p.manager, controller.TypedOptions[string]{
		Reconciler:              p.health.Loop(holder),
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[string](errorBackoffBase, errorBackoffCap),
	})
	if err != nil {
		return fmt.Errorf("build what holds leases: %w", err)
	}
	var errs []error
	for _, s := range leaseholder.Sources(p.manager.GetCache()) {
		errs = append(errs, c.Watch(s))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("build what holds leases: %w", err)
	}
	return nil
}
