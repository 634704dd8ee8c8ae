// SPDX-License-Identifier: Apache-2.0

package request

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func (m Maintain) window(spec *slipwayv1alpha1.NodeMaintenanceSpec, now time.Time) error {
	window := slipwayv1alpha1.MaintenanceWindow{}
	from := now
	if m.NotBefore != "" {
		at, err := Moment(m.NotBefore, now)
		if err != nil {
			return fmt.Errorf("--not-before: %w", err)
		}
		window.NotBefore, from = &metav1.Time{Time: at}, at
	}
	if m.Deadline != "" {
		at, err := Moment(m.Deadline, from)
		switch {
		case err != nil:
			return fmt.Errorf("--deadline: %w", err)
		case !at.After(from) && m.NotBefore != "":
			return fmt.Errorf("--deadline: %s is not after --not-before, which is %s", stamp(at), stamp(from))
		case !at.After(now):
			return fmt.Errorf("--deadline: %s has passed", stamp(at))
		}
		window.Deadline = &metav1.Time{Time: at}
	}
	switch {
	case m.AtDeadline == "":
	case m.Deadline == "":
		return errors.New("--at-deadline: there is no --deadline")
	case strings.EqualFold(m.AtDeadline, string(slipwayv1alpha1.FinishAtDeadline)):
		window.AtDeadline = slipwayv1alpha1.FinishAtDeadline
	case strings.EqualFold(m.AtDeadline, string(slipwayv1alpha1.CancelAtDeadline)):
		window.AtDeadline = slipwayv1alpha1.CancelAtDeadline
	default:
		return fmt.Errorf("--at-deadline: %q is not finish or cancel", m.AtDeadline)
	}
	if window != (slipwayv1alpha1.MaintenanceWindow{}) {
		spec.Window = &window
	}
	return nil
}

func stamp(at time.Time) string { return at.Format(time.RFC3339) }
