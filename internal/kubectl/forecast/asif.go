// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// asIf is the maintenance once what only time or a word of somebody holds up has come, and says
// what that is.
func asIf(m *slipwayv1alpha1.NodeMaintenance, now time.Time) (ready *slipwayv1alpha1.NodeMaintenance, conditions []string) {
	ready = m.DeepCopy()
	if m.Spec.Stage == slipwayv1alpha1.StageComplete || m.DeletionTimestamp != nil {
		return ready, nil // no more begin
	}
	if !slices.Contains(ready.Finalizers, slipwayv1alpha1.MaintenanceFinalizer) {
		ready.Finalizers = append(ready.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	}
	if m.Spec.Stage != slipwayv1alpha1.StageDrain {
		ready.Spec.Stage = slipwayv1alpha1.StageDrain
		stage := m.Spec.Stage
		if stage == "" {
			stage = slipwayv1alpha1.StageIdle
		}
		text := fmt.Sprintf("spec.stage is Drain: it is %s, and 'kubectl slipway maintenance stage %s drain' moves it on", stage, m.Name)
		if stage == slipwayv1alpha1.StageCordon && m.Spec.Rollout == nil {
			text += "; until then, the nodes are cordoned, and no pod leaves"
		}
		conditions = append(conditions, text)
	}
	if m.Spec.Paused {
		ready.Spec.Paused = false
		conditions = append(conditions, fmt.Sprintf("it is resumed: it is paused, and 'kubectl slipway maintenance resume %s' ends that", m.Name))
	}
	if w := m.Spec.Window; w != nil && w.NotBefore != nil && now.Before(w.NotBefore.Time) {
		ready.Spec.Window.NotBefore = nil
		conditions = append(conditions, stamp(*w.NotBefore)+" (spec.window.notBefore)")
	}
	return ready, conditions
}

func deadlineOf(m *slipwayv1alpha1.NodeMaintenance) *metav1.Time {
	if m.Spec.Window == nil {
		return nil
	}
	return m.Spec.Window.Deadline
}

func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
