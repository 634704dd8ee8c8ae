// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func (m Maintain) work(spec *slipwayv1alpha1.NodeMaintenanceSpec) error {
	none := m.Job == "" && m.Work == ""
	switch {
	case m.Job == "" && m.BackoffLimit >= 0:
		return errors.New("--backoff-limit is of a Job: say which with --job")
	case m.WorkTimeout < 0:
		return fmt.Errorf("--work-timeout: %s is not a time that work can take", m.WorkTimeout)
	case none && m.WorkTimeout == 0:
		return nil
	case m.Together:
		return errors.New("--job, --work and --work-timeout are for what is done to one node after the other, and do not go with --all-together: " +
			"there, the nodes return when 'kubectl slipway maintenance stage' says complete")
	case m.Job != "" && m.Work != "":
		return errors.New("--job and --work: say one of the two")
	}
	work := &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkManual, PodTemplate: m.Job}
	switch {
	case m.Job != "":
		work.Type = slipwayv1alpha1.WorkJob
	case m.Work == "none" && m.WorkTimeout > 0:
		return errors.New("--work-timeout: there is no work with --work none")
	case m.Work == "none":
		work.Type = slipwayv1alpha1.WorkNone
	case m.Work != "manual" && m.Work != "":
		return fmt.Errorf("--work: %q is not manual or none; a Job is --job PODTEMPLATE", m.Work)
	}
	work.Timeout = lasting(m.WorkTimeout)
	if m.BackoffLimit >= 0 {
		work.BackoffLimit = &m.BackoffLimit
	}
	spec.Work = work
	return nil
}
