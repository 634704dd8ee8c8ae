// SPDX-License-Identifier: Apache-2.0

package contender

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
)

// maintain asks for the maintenance of a fleet, and waits until all of its nodes have
// returned. The object is deleted then.
func (p *slipway) maintain(ctx context.Context, scene *stage.Scene) error {
	w, err := p.events.Watch(ctx, &slipwayv1alpha1.NodeMaintenanceList{})
	if err != nil {
		return fmt.Errorf("watch maintenances: %w", err)
	}
	defer w.Stop()
	asked := maintenance(scene)
	if err := p.events.Create(ctx, asked); err != nil {
		return fmt.Errorf("ask for the maintenance of %d nodes: %w", len(scene.Drained), err)
	}
	if err := await(ctx, w, asked.Name, completed); err != nil {
		return err
	}
	if err := p.events.Delete(ctx, asked); err != nil {
		return fmt.Errorf("delete the maintenance: %w", err)
	}
	return nil
}

func maintenance(scene *stage.Scene) *slipwayv1alpha1.NodeMaintenance {
	return &slipwayv1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: scene.Namespace},
		Spec: slipwayv1alpha1.NodeMaintenanceSpec{
			NodeSelector: corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: scene.Drained,
				}},
			}}},
			Stage:   slipwayv1alpha1.StageDrain,
			Rollout: &slipwayv1alpha1.MaintenanceRollout{MaxUnavailable: new(intstr.FromInt(scene.Fleet))},
			Work:    &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone},
		},
	}
}

// completed says whether all nodes have returned. That one has failed is an error.
func completed(m *slipwayv1alpha1.NodeMaintenance) (bool, error) {
	if m.Status.Nodes.Failed > 0 {
		return false, fmt.Errorf("maintenance %s: %d nodes have failed: %s", m.Name, m.Status.Nodes.Failed, m.Status.Message)
	}
	return apimeta.IsStatusConditionTrue(m.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted), nil
}

func await(ctx context.Context, w watch.Interface, name string, done func(*slipwayv1alpha1.NodeMaintenance) (bool, error)) error {
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-w.ResultChan():
			if !open {
				return errors.New("the watch of maintenances ended")
			}
			m, ok := event.Object.(*slipwayv1alpha1.NodeMaintenance)
			if !ok || m.Name != name {
				continue
			}
			if ok, err := done(m); ok || err != nil {
				return err
			}
		}
	}
}
