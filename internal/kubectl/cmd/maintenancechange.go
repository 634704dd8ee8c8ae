// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// maintenanceEdit makes something else of a maintenance, if it is not so already.
type maintenanceEdit func(*slipwayv1alpha1.NodeMaintenance) (changed bool, err error)

// editMaintenance changes the one that an argument names.
func (t *tool) editMaintenance(ctx context.Context, arg string, f maintenanceEdit) (m *slipwayv1alpha1.NodeMaintenance, changed bool, err error) {
	name, err := cutMaintenance(arg)
	if err != nil {
		return nil, false, err
	}
	_, client, err := t.openMaintenances(ctx)
	if err != nil {
		return nil, false, err
	}
	return changeMaintenance(ctx, client, name, f)
}

// changeMaintenance reads one, and writes what f makes of it. One that somebody else has
// changed meanwhile is read again. What f does not change is not written.
func changeMaintenance(ctx context.Context, c client.Client, name string, f maintenanceEdit) (m *slipwayv1alpha1.NodeMaintenance, changed bool, err error) {
	var refused bool // by what has been read, or by f: not by the write
	err = retry.RetryOnConflict(retry.DefaultBackoff, func() (err error) {
		refused = true
		if m, err = getMaintenance(ctx, c, name); err != nil {
			return err
		}
		before := m.DeepCopy()
		if changed, err = f(m); err != nil || !changed {
			return err
		}
		refused = false
		return c.Patch(ctx, m, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil && !refused {
		return nil, false, fmt.Errorf("change NodeMaintenance %s: %w", name, err)
	}
	return m, changed, err
}
