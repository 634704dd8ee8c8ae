// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// statusesApart is how far apart the writes of a maintenance's status are, at least.
const statusesApart = time.Second

// changeMaintenance writes the stage and the finalizers of a maintenance.
func (m *Maintainer) changeMaintenance(ctx context.Context, s maintenance.ChangeMaintenance) error {
	after := s.Changed.DeepCopy()
	err := m.Client.Patch(ctx, after, client.MergeFromWithOptions(s.Seen, client.MergeFromWithOptimisticLock{}))
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("change NodeMaintenance %s: %w", s.Seen.Name, err)
	}
	m.maintenances.keep(after)
	return nil
}

// writeStatuses writes the statuses that are due, but for those of maintenances that have
// just changed. It returns when the next one is.
func (m *Maintainer) writeStatuses(
	ctx context.Context, facts maintenance.Facts, statuses map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus, changed map[types.UID]bool,
) (due time.Time) {
	now := m.Clock.Now()
	there, statusesOf := map[types.UID]bool{}, map[string]bool{}
	for _, nm := range facts.Maintenances {
		there[nm.UID], statusesOf[keyOf(writeStatus{nm.Name})] = true, true
		status, differs := statuses[nm.UID]
		next := m.written[nm.UID].Add(statusesApart)
		switch {
		case !differs: // somebody else has written it, or the answer to ours was lost
			m.failed.forget(writeStatus{nm.Name})
		case changed[nm.UID] || !m.failed.mayTry(writeStatus{nm.Name}):
		case now.Before(next):
			due = earliest(due, next)
		default:
			m.written[nm.UID] = now
			err := m.writeStatus(ctx, nm, status)
			m.failed.noteOne(ctx, writeStatus{nm.Name}, err)
		}
	}
	m.failed.keep(statusesOf)
	for uid := range m.written {
		if !there[uid] {
			delete(m.written, uid)
			m.Tell.Forget(uid)
		}
	}
	return due
}

// writeStatus is the attempt to write the status of the maintenance of that name.
type writeStatus struct{ name string }

func (m *Maintainer) writeStatus(ctx context.Context, seen *slipwayv1alpha1.NodeMaintenance, status slipwayv1alpha1.NodeMaintenanceStatus) error {
	after := seen.DeepCopy()
	after.Status = status
	err := m.Client.Status().Update(ctx, after)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("write the status of NodeMaintenance %s: %w", seen.Name, err)
	}
	m.maintenances.keep(after)
	return nil
}

// standing is how each maintenance stands, by name: as it is decided, or else as it is.
func standing(facts maintenance.Facts, decision maintenance.Decision) map[string]slipwayv1alpha1.NodeMaintenanceStatus {
	all := map[string]slipwayv1alpha1.NodeMaintenanceStatus{}
	for _, nm := range facts.Maintenances {
		all[nm.Name] = nm.Status
		if decided, differs := decision.Statuses[nm.UID]; differs {
			all[nm.Name] = decided
		}
	}
	return all
}
