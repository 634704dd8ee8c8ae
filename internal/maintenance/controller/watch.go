// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
)

// written are the writes that the watches have not shown yet. Without them, more nodes could begin
// than may be out, and steps would be done again.
type written struct {
	maintenances *ownwrites.Writes[*slipwayv1alpha1.NodeMaintenance]
	events       *ownwrites.Writes[*lifecyclev1alpha1.LifecycleEvent]
	nodes        *ownwrites.Writes[*corev1.Node]
	jobs         *ownwrites.Writes[*batchv1.Job]
}

// unshown is how long writes that no watch shows stay without another look at them: an object may
// have been written and deleted while a watch was broken.
const unshown = 30 * time.Second

// due returns when to look again whether the watches have shown all writes; zero, if they have.
func (w written) due(now time.Time) time.Time {
	if w.maintenances.Unshown() || w.events.Unshown() || w.nodes.Unshown() || w.jobs.Unshown() {
		return now.Add(unshown)
	}
	return time.Time{}
}

// listen asks for a pass when something has changed. Each channel is closed when the watch has shown
// all objects of its kind.
func (c *Controller) listen(ctx context.Context) (known map[string]<-chan struct{}, stop func(), err error) {
	known = map[string]<-chan struct{}{}
	var stops []func() error
	stop = func() {
		var errs []error
		for _, f := range stops {
			errs = append(errs, f())
		}
		if err := errors.Join(errs...); err != nil {
			log.FromContext(ctx).Error(err, "Cannot remove event handlers")
		}
	}
	type watched struct {
		object  client.Object
		changed func(before, after any) bool
		// stored takes the store of the watch; nil: nothing of the kind is written.
		stored func(ownwrites.Store)
	}
	all := map[string]watched{
		"NodeMaintenances": {&slipwayv1alpha1.NodeMaintenance{}, always, func(s ownwrites.Store) {
			c.written.maintenances = ownwrites.New[*slipwayv1alpha1.NodeMaintenance](s)
		}},
		"LifecycleEvents": {&lifecyclev1alpha1.LifecycleEvent{}, always, func(s ownwrites.Store) {
			c.written.events = ownwrites.New[*lifecyclev1alpha1.LifecycleEvent](s)
		}},
		"Nodes":        {&corev1.Node{}, nodeChanged, func(s ownwrites.Store) { c.written.nodes = ownwrites.New[*corev1.Node](s) }},
		"Jobs":         {&batchv1.Job{}, always, func(s ownwrites.Store) { c.written.jobs = ownwrites.New[*batchv1.Job](s) }},
		"PodTemplates": {&corev1.PodTemplate{}, always, nil},
	}
	if c.Leases {
		all["Leases of nodes"] = watched{&coordinationv1.Lease{}, leaseChanged, nil}
	}
	for what, of := range all {
		informer, err := c.Cache.GetInformer(ctx, of.object, cache.BlockUntilSynced(false))
		if err != nil {
			return nil, stop, fmt.Errorf("watch %s: %w", what, err)
		}
		if of.stored != nil {
			store, ok := informer.(toolscache.SharedIndexInformer)
			if !ok { // a cache of several namespaces has several stores
				return nil, stop, fmt.Errorf("watch %s: the cache must have one watch for them", what)
			}
			of.stored(store.GetIndexer())
		}
		registration, err := informer.AddEventHandler(c.handler(of.changed))
		if err != nil {
			return nil, stop, fmt.Errorf("watch %s: %w", what, err)
		}
		stops = append(stops, func() error { return informer.RemoveEventHandler(registration) })
		known[what] = registration.HasSyncedChecker().Done()
	}
	return known, stop, nil
}

func always(any, any) bool { return true }

func (c *Controller) handler(changed func(before, after any) bool) toolscache.ResourceEventHandler {
	wake := func(o any) {
		if concerns(o) {
			c.wake()
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake,
		UpdateFunc: func(before, after any) {
			if changed(before, after) {
				wake(after)
			}
		},
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			wake(o)
		},
	}
}

// concerns reports whether an object is about maintenances: of LifecycleEvents, those with the label.
func concerns(o any) bool {
	event, ok := o.(*lifecyclev1alpha1.LifecycleEvent)
	return !ok || maintenance.Labelled(event)
}

// awaitKnown waits until the watches have shown everything. It returns false if ctx ends before.
func (c *Controller) awaitKnown(ctx context.Context, known map[string]<-chan struct{}) bool {
	for what, done := range known {
		timer := c.Clock.NewTimer(patience)
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

// nodeChanged leaves out changes of a Node that no decision depends on: a heartbeat every five
// minutes.
func nodeChanged(before, after any) bool {
	a, ok := before.(*corev1.Node)
	if !ok {
		return true
	}
	b, ok := after.(*corev1.Node)
	if !ok {
		return true
	}
	return a.UID != b.UID || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		!maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		a.Spec.Unschedulable != b.Spec.Unschedulable || !equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) ||
		!slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, sameCondition)
}

func sameCondition(a, b corev1.NodeCondition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.LastTransitionTime.Equal(&b.LastTransitionTime)
}

// leaseChanged leaves out renewals: who has a lease, and since when, stays as it is.
func leaseChanged(before, after any) bool {
	a, is := before.(*coordinationv1.Lease)
	b, too := after.(*coordinationv1.Lease)
	return !is || !too || !equality.Semantic.DeepEqual(a.Spec.HolderIdentity, b.Spec.HolderIdentity) || !a.Spec.AcquireTime.Equal(b.Spec.AcquireTime)
}
