// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// A merge patch replaces lists: what was allowed before is in it, or the server refuses it.
func TestWhatHelpsWhereGuardsHoldNodes(t *testing.T) {
	type guards = []slipwayv1alpha1.MaintenanceGuard
	last, brain := slipwayv1alpha1.GuardLastSchedulableNode, slipwayv1alpha1.GuardAllControlPlaneNodes
	const patch = `kubectl patch nodemaintenance m --type=merge -p '{"spec":{"allow":[`
	for name, tc := range map[string]struct {
		held    []string
		allowed guards
		rollout *slipwayv1alpha1.MaintenanceRollout
		want    []advice
	}{
		"none is held":                          {nil, nil, nil, nil},
		"the last one":                          {[]string{"LastSchedulableNode"}, nil, nil, []advice{{"Have it done all the same", patch + `"LastSchedulableNode"]}}'`}}},
		"the last one of a rollout":             {[]string{"LastSchedulableNode"}, nil, &slipwayv1alpha1.MaintenanceRollout{}, []advice{{"Have it done all the same", patch + `"LastSchedulableNode"]}}'`}}},
		"a second one of the control plane":     {[]string{"SecondControlPlaneNode"}, guards{last}, nil, []advice{{"Have it done all the same", patch + `"AllControlPlaneNodes","LastSchedulableNode"]}}'`}}},
		"a second one, and a rollout waits":     {[]string{"SecondControlPlaneNode"}, guards{last}, &slipwayv1alpha1.MaintenanceRollout{}, nil},
		"both":                                  {[]string{"SecondControlPlaneNode", "LastSchedulableNode"}, nil, nil, []advice{{"Have it done all the same", patch + `"AllControlPlaneNodes","LastSchedulableNode"]}}'`}}},
		"it is allowed, and not seen there yet": {[]string{"SecondControlPlaneNode"}, guards{brain}, nil, []advice{{"Have it done all the same", patch + `"AllControlPlaneNodes"]}}'`}}},
	} {
		m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m"}}
		m.Spec.Stage, m.Spec.Allow, m.Spec.Rollout = slipwayv1alpha1.StageDrain, tc.allowed, tc.rollout
		m.Status.ObservedGeneration = 1
		for _, code := range tc.held {
			m.Status.NodeStatuses = append(m.Status.NodeStatuses, slipwayv1alpha1.MaintenanceNodeStatus{
				Name: "n", Phase: slipwayv1alpha1.NodeHeld, Reason: code,
			})
		}
		row := rowOfMaintenance(m)
		if diff := cmp.Diff(tc.want, row.next(), cmp.AllowUnexported(advice{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
