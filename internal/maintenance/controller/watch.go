// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// patience is how long it takes until it is said that something is not known yet.
const patience = 30 * time.Second

// listen asks for a pass when something has changed. What is known once all that there is
// has been shown is closed then.
func (m *Maintainer) listen(ctx context.Context) (known map[string]<-chan struct{}, stop func(), err error) {
	known = map[string]<-chan struct{}{}
	var stops []func() error
	stop = func() {
		var errs []error
		for _, f := range stops {
			errs = append(errs, f())
		}
		if err := errors.Join(errs...); err != nil {
			log.FromContext(ctx).Error(err, "Cannot stop to listen")
		}
	}
	type watched struct {
		object  client.Object
		changed func(before, after any) bool
		gone    func(client.Object)
	}
	all := map[string]watched{
		"NodeMaintenances": {&slipwayv1alpha1.NodeMaintenance{}, always, func(o client.Object) { m.maintenances.forget(o.GetUID()) }},
		"LifecycleEvents":  {&lifecyclev1alpha1.LifecycleEvent{}, always, func(o client.Object) { m.events.forget(o.GetUID()) }},
		"Nodes":            {&corev1.Node{}, nodeChanged, func(o client.Object) { m.nodes.forget(o.GetUID()) }},
		"Jobs":             {&batchv1.Job{}, always, func(o client.Object) { m.jobs.forget(o.GetUID()) }},
		"PodTemplates":     {&corev1.PodTemplate{}, always, func(client.Object) {}},
	}
	if m.Leases {
		all["Leases of nodes"] = watched{&coordinationv1.Lease{}, leaseChanged, func(client.Object) {}}
	}
	for what, of := range all {
		informer, err := m.Cache.GetInformer(ctx, of.object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, stop, fmt.Errorf("watch %s: %w", what, err)
		}
		registration, err := informer.AddEventHandler(m.handler(of.changed, of.gone))
		if err != nil {
			return nil, stop, fmt.Errorf("watch %s: %w", what, err)
		}
		stops = append(stops, func() error { return informer.RemoveEventHandler(registration) })
		known[what] = registration.HasSyncedChecker().Done()
	}
	return known, stop, nil
}

func always(any, any) bool { return true }

func (m *Maintainer) handler(changed func(before, after any) bool, gone func(client.Object)) toolscache.ResourceEventHandler {
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) {
			if concerns(o) {
				m.wake()
			}
		},
		UpdateFunc: func(before, after any) {
			if concerns(after) && changed(before, after) {
				m.wake()
			}
		},
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			if object, ok := o.(client.Object); ok && concerns(o) {
				gone(object)
				m.wake()
			}
		},
	}
}

// concerns says whether an object is about maintenances: of LifecycleEvents, those with the
// label.
func concerns(o any) bool {
	event, ok := o.(*lifecyclev1alpha1.LifecycleEvent)
	return !ok || maintenance.Labelled(event)
}

// awaitKnown waits until all that there is has been shown. It is false if ctx ends before.
func (m *Maintainer) awaitKnown(ctx context.Context, known map[string]<-chan struct{}) bool {
	for what, done := range known {
		timer := m.Clock.NewTimer(patience)
		select {
		case <-done:
		case <-timer.C():
			log.FromContext(ctx).Error(fmt.Errorf("%s cannot be read", what), "NodeMaintenances are not worked on", "remedy",
				"Apply the CRDs and the rights of this version (config/crd/slipway.dev, config/rbac/controller.yaml)")
			select {
			case <-done:
			case <-ctx.Done():
			}
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return false
		}
	}
	return true
}
