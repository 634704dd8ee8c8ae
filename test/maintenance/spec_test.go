// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// change is one of the spec of a maintenance.
type change = func(*slipwayv1alpha1.NodeMaintenanceSpec)

// rolling takes so many nodes at a time.
func rolling(maxUnavailable int) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Rollout = &slipwayv1alpha1.MaintenanceRollout{MaxUnavailable: new(intstr.FromInt(maxUnavailable))}
	}
}

// together takes all nodes at the same time.
func together(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Rollout = nil }

func in(stage slipwayv1alpha1.MaintenanceStage) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Stage = stage }
}

func paused(is bool) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) { s.Paused = is }
}

func nobody(s *slipwayv1alpha1.NodeMaintenanceSpec) {
	s.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone}
}

func somebody(s *slipwayv1alpha1.NodeMaintenanceSpec) {
	s.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkManual}
}

func job(template string) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob, PodTemplate: template}
	}
}

func hook(name string, at slipwayv1alpha1.HookPoint) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Hooks = append(s.Hooks, slipwayv1alpha1.MaintenanceHook{Name: name, At: at})
	}
}

// until gives all hooks a timeout.
func until(timeout time.Duration, then slipwayv1alpha1.HookTimeout) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		for i := range s.Hooks {
			s.Hooks[i].Timeout, s.Hooks[i].OnTimeout = &metav1.Duration{Duration: timeout}, then
		}
	}
}

func closing(in time.Duration, then slipwayv1alpha1.AtDeadline) change {
	return func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Window = &slipwayv1alpha1.MaintenanceWindow{Deadline: new(metav1.NewTime(time.Now().Add(in))), AtDeadline: then}
	}
}
