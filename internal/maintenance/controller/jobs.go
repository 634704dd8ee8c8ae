// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// createJob creates the Job of a node. What the API server has against it is told in the
// status of the maintenance, and it is tried again.
func (m *Maintainer) createJob(ctx context.Context, s maintenance.CreateJob) error {
	job := s.Job.DeepCopy()
	err := m.Client.Create(ctx, job)
	if apierrors.IsAlreadyExists(err) {
		return m.taken(ctx, &batchv1.Job{}, s.Job)
	}
	if err != nil {
		return fmt.Errorf("create Job %s/%s: %w", job.Namespace, job.Name, err)
	}
	m.jobs.keep(job)
	faultpoint.Reach(faultpoint.MaintenanceJobCreated)
	return nil
}

// deleteJob deletes it, with its pods.
func (m *Maintainer) deleteJob(ctx context.Context, s maintenance.DeleteJob) error {
	err := m.Client.Delete(ctx, s.Job.DeepCopy(), client.PropagationPolicy(metav1.DeletePropagationBackground),
		client.Preconditions{UID: new(s.Job.UID)})
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		return errStale
	case err != nil:
		return fmt.Errorf("delete Job %s/%s: %w", s.Job.Namespace, s.Job.Name, err)
	}
	m.jobs.deleted(s.Job)
	return nil
}
