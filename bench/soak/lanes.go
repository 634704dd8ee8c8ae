// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// drainer drains one of its nodes and returns it, or calls the drain off.
type drainer struct {
	*load
	random *rand.Rand
	nodes  []string
}

func (d *drainer) once(ctx context.Context) (string, error) {
	node := d.nodes[d.random.IntN(len(d.nodes))]
	if d.random.IntN(inTurn) == 0 {
		return "drains called off", d.callOff(ctx, node)
	}
	if err := d.transition(ctx, drainTransition, node); err != nil {
		return "drain of " + node, err
	}
	return "drains and returns", d.transition(ctx, returnTransition, node)
}

// transition asks for one, and returns when it has succeeded and its event is gone.
func (d *drainer) transition(ctx context.Context, transition, node string) error {
	return follow(ctx, d.events, &lifecyclev1alpha1.LifecycleEventList{}, eventOf(node),
		func() error { return d.ask(ctx, transition, node) },
		func(e *lifecyclev1alpha1.LifecycleEvent, gone bool) (bool, error) {
			if phase := e.Status.ClaimStatus; phase.Terminal() && phase != lifecyclev1alpha1.Succeeded {
				return false, fmt.Errorf("%s of %s ended as %s: %+v", transition, node, phase, e.Status.Conditions)
			}
			return gone, nil
		})
}

// callOff deletes the event as soon as it is claimed and has its finalizer, and returns when it is gone. If the drain
// was faster, the node is returned. Not earlier: a finalizer that comes while the API server carries out a deletion is
// not heeded by it, and the event is gone at once.
func (d *drainer) callOff(ctx context.Context, node string) error {
	deleted, succeeded := false, false
	err := follow(ctx, d.events, &lifecyclev1alpha1.LifecycleEventList{}, eventOf(node),
		func() error { return d.ask(ctx, drainTransition, node) },
		func(e *lifecyclev1alpha1.LifecycleEvent, gone bool) (bool, error) {
			succeeded = e.Status.ClaimStatus == lifecyclev1alpha1.Succeeded
			if e.Status.ClaimStatus == lifecyclev1alpha1.Claimed && len(e.Finalizers) > 0 && !deleted {
				deleted = true
				return gone, client.IgnoreNotFound(d.events.Delete(ctx, e))
			}
			return gone, nil
		})
	if err != nil || !succeeded {
		return err
	}
	return d.transition(ctx, returnTransition, node)
}

// maintainer has its nodes maintained, some at a time, or ends the maintenance early.
type maintainer struct {
	*load
	random *rand.Rand
	nodes  []string
	number int
}

func (m *maintainer) once(ctx context.Context) (string, error) {
	m.number++
	asked := m.maintenance()
	early := m.random.IntN(inTurn) == 0
	what := "maintenances"
	if early {
		what = "maintenances ended early"
	}
	deleted := false
	return what, follow(ctx, m.events, &slipwayv1alpha1.NodeMaintenanceList{}, asked.Name,
		func() error { return m.events.Create(ctx, asked) },
		func(o *slipwayv1alpha1.NodeMaintenance, gone bool) (bool, error) {
			if o.Status.Nodes.Failed > 0 {
				return false, fmt.Errorf("%d nodes have failed: %s", o.Status.Nodes.Failed, o.Status.Message)
			}
			over := isTrue(o.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted) || early && o.Status.Nodes.Out > 0
			if over && !deleted {
				deleted = true
				return gone, client.IgnoreNotFound(m.events.Delete(ctx, o))
			}
			return gone, nil
		})
}

func (m *maintainer) maintenance() *slipwayv1alpha1.NodeMaintenance {
	const most = 3
	rollout := &slipwayv1alpha1.MaintenanceRollout{
		MaxUnavailable: new(intstr.FromInt(1 + m.random.IntN(most))),
		MaxPendingPods: new(int32(2 * drainers * mixedPods)), // those of others' drains begin all the time, and are no reason to wait
	}
	return &slipwayv1alpha1.NodeMaintenance{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("soak-%d", m.number)},
		Spec: slipwayv1alpha1.NodeMaintenanceSpec{
			NodeSelector: corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpIn, Values: m.nodes}},
			}}},
			Stage:   slipwayv1alpha1.StageDrain,
			Rollout: rollout,
			Work:    &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone},
		},
	}
}
