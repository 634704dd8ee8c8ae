// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// statusesApart is how far apart the writes of a maintenance's status are, at least.
const statusesApart = time.Second

// writeStatuses writes the statuses that are due, but for those of maintenances that have
// just changed. It returns when the next one is.
func (c *Controller) writeStatuses(
	ctx context.Context, facts maintenance.Facts, statuses map[types.UID]slipwayv1alpha1.NodeMaintenanceStatus, changed map[types.UID]bool,
) (due time.Time) {
	now := c.Clock.Now()
	there, statusesOf := map[types.UID]bool{}, map[string]bool{}
	for _, nm := range facts.Maintenances {
		there[nm.UID], statusesOf[keyOf(writeStatus{nm.Name})] = true, true
		status, differs := statuses[nm.UID]
		next := c.statusAt[nm.UID].Add(statusesApart)
		switch {
		case !differs: // somebody else has written it, or the answer to ours was lost
			c.failed.forget(writeStatus{nm.Name})
		case changed[nm.UID] || !c.failed.mayTry(writeStatus{nm.Name}):
		case now.Before(next):
			due = earliest(due, next)
		default:
			c.statusAt[nm.UID] = now
			err := c.writeStatus(ctx, nm, status)
			c.failed.noteOne(ctx, writeStatus{nm.Name}, err)
		}
	}
	c.failed.keep(statusesOf)
	for uid := range c.statusAt {
		if !there[uid] {
			delete(c.statusAt, uid)
			c.Tell.Forget(uid)
		}
	}
	return due
}

// writeStatus is the attempt to write the status of the maintenance of that name.
type writeStatus struct{ name string }

func (c *Controller) writeStatus(ctx context.Context, seen *slipwayv1alpha1.NodeMaintenance, status slipwayv1alpha1.NodeMaintenanceStatus) error {
	after := seen.DeepCopy()
	after.Status = status
	err := c.Client.Status().Update(ctx, after)
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return errStale
	case err != nil:
		return fmt.Errorf("write the status of NodeMaintenance %s: %w", seen.Name, err)
	}
	c.written.maintenances.Keep(after)
	return nil
}

// statusesOf returns the status of each maintenance by name: the new one, if it has changed.
func statusesOf(facts maintenance.Facts, decision maintenance.Decision) map[string]slipwayv1alpha1.NodeMaintenanceStatus {
	all := map[string]slipwayv1alpha1.NodeMaintenanceStatus{}
	for _, nm := range facts.Maintenances {
		all[nm.Name] = nm.Status
		if decided, differs := decision.Statuses[nm.UID]; differs {
			all[nm.Name] = decided
		}
	}
	return all
}
