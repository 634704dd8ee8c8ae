// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestOnlyFinalizersThatAreOursOrWereAgreedToAreTakenOff(t *testing.T) {
	const ours, audit, late = lifecyclev1alpha1.ClaimProtectionFinalizer, "example.com/audit", "example.com/late"
	for name, tc := range map[string]struct{ has, agreed, stay []string }{
		"ours alone":                      {[]string{ours}, nil, nil},
		"somebody holds it":               {[]string{audit, ours}, nil, []string{audit}},
		"its loss was agreed to":          {[]string{ours, audit}, []string{audit}, nil},
		"another one has come since then": {[]string{ours, audit, late}, []string{audit}, []string{late}},
		"those of a maintenance":          {[]string{slipwayv1alpha1.MaintenanceFinalizer, slipwayv1alpha1.MaintenanceEventFinalizer, audit}, nil, []string{audit}},
		"none":                            {nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.stay, withoutOurs(tc.has, tc.agreed), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMaintenanceIsInWorkFromItsFinalizerToItsEnd(t *testing.T) {
	for name, tc := range map[string]struct {
		finalizers []string
		completed  metav1.ConditionStatus
		want       Maintenance
	}{
		"it has not begun":   {want: Maintenance{Name: "kernel"}},
		"it goes on":         {[]string{slipwayv1alpha1.MaintenanceFinalizer}, metav1.ConditionFalse, Maintenance{Name: "kernel", InWork: true}},
		"nobody has seen it": {[]string{slipwayv1alpha1.MaintenanceFinalizer}, "", Maintenance{Name: "kernel", InWork: true}},
		"it is over":         {[]string{slipwayv1alpha1.MaintenanceFinalizer}, metav1.ConditionTrue, Maintenance{Name: "kernel"}},
		"somebody holds it":  {[]string{"example.com/audit"}, "", Maintenance{Name: "kernel", Holders: []string{"example.com/audit"}}},
	} {
		t.Run(name, func(t *testing.T) {
			m := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "kernel", Finalizers: tc.finalizers}}
			if tc.completed != "" {
				m.Status.Conditions = []metav1.Condition{{Type: slipwayv1alpha1.MaintenanceCompleted, Status: tc.completed}}
			}
			o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m)
			if err != nil {
				t.Fatal(err)
			}
			got, err := maintenanceOf(&unstructured.Unstructured{Object: o})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(Maintenance{}), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
