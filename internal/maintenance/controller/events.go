// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// createEvent creates an event. One of that name which is there already is either ours,
// and the watch is late, or in the way.
func (m *Maintainer) createEvent(ctx context.Context, s maintenance.CreateEvent) error {
	created, err := m.Events.Create(ctx, s.Event)
	if apierrors.IsAlreadyExists(err) {
		return m.taken(ctx, &lifecyclev1alpha1.LifecycleEvent{}, s.Event)
	}
	if err != nil {
		return err
	}
	m.events.keep(created)
	if created.Labels[slipwayv1alpha1.MaintenanceEventLabel] == maintenance.LabelReturn {
		faultpoint.Reach(faultpoint.MaintenanceReturnCreated)
	} else {
		faultpoint.Reach(faultpoint.MaintenanceEventCreated)
	}
	return nil
}

// taken says what to do about an object of the name of one that is to be created.
func (m *Maintainer) taken(ctx context.Context, there, wanted client.Object) error {
	err := m.Live.Get(ctx, client.ObjectKeyFromObject(wanted), there)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read %s %s, which is there: %w", kindOf(wanted), wanted.GetName(), err)
	}
	if err != nil || there.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel] == wanted.GetLabels()[slipwayv1alpha1.MaintenanceEventLabel] {
		return errStale
	}
	return fmt.Errorf("%s %s %w: delete it", kindOf(wanted), wanted.GetName(), errInTheWay)
}

// errInTheWay means that there is an object of somebody else's of that name.
var errInTheWay = errors.New("is in the way: it is none of a maintenance")

func isInTheWay(err error) bool { return errors.Is(err, errInTheWay) }

func kindOf(o client.Object) string {
	if _, event := o.(*lifecyclev1alpha1.LifecycleEvent); event {
		return "LifecycleEvent"
	}
	return "Job"
}

// changeEvent writes parameters, gates, finalizers and annotations of an event.
func (m *Maintainer) changeEvent(ctx context.Context, s maintenance.ChangeEvent) error {
	after, err := m.Events.Change(ctx, s.Seen, s.Changed)
	if err != nil {
		return err
	}
	m.events.keep(after)
	reachChanged(s.Seen, s.Changed)
	return nil
}

// reachChanged names what a change of an event was.
func reachChanged(seen, changed *lifecyclev1alpha1.LifecycleEvent) {
	before, after := drainOf(seen), drainOf(changed)
	protects := func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return slices.Contains(e.Finalizers, slipwayv1alpha1.MaintenanceEventFinalizer)
	}
	switch {
	case protects(seen) && !protects(changed):
		faultpoint.Reach(faultpoint.MaintenanceEventReleased)
	case before.Hold && !after.Hold:
		faultpoint.Reach(faultpoint.MaintenanceHoldDropped)
	case before.Hold && string(before.Targets) != string(after.Targets):
		faultpoint.Reach(faultpoint.MaintenanceTargetsRaised)
	}
}

// drainParameters are what of the parameters of a drain tells its changes apart.
type drainParameters struct {
	Hold    bool            `json:"hold"`
	Targets json.RawMessage `json:"targets"`
}

func drainOf(e *lifecyclev1alpha1.LifecycleEvent) (parameters drainParameters) {
	if e.Spec.Parameters == nil || json.Unmarshal(e.Spec.Parameters.Raw, &parameters) != nil {
		return drainParameters{} // it is the driver that says what is wrong with them
	}
	return parameters
}
