// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

func TestAnInstallationFailsOnPoliciesThatTheServerWarnsOf(t *testing.T) {
	policy := func(name string, warnings ...string) *admissionregistrationv1.ValidatingAdmissionPolicy {
		p := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name, Generation: 1}}
		p.Status.ObservedGeneration, p.Status.TypeChecking = 1, &admissionregistrationv1.TypeChecking{}
		for _, w := range warnings {
			p.Status.TypeChecking.ExpressionWarnings = append(p.Status.TypeChecking.ExpressionWarnings,
				admissionregistrationv1.ExpressionWarning{FieldRef: "spec.validations[0].expression", Warning: w})
		}
		return p
	}
	ours := &unstructured.Unstructured{}
	ours.SetKind("ValidatingAdmissionPolicy")
	ours.SetName("ours")
	r := release.Release{Objects: []*unstructured.Unstructured{ours}}
	for name, tc := range map[string]struct {
		policies []*admissionregistrationv1.ValidatingAdmissionPolicy
		want     string
	}{
		"no warning":                       {[]*admissionregistrationv1.ValidatingAdmissionPolicy{policy("ours")}, ""},
		"a warning of a foreign policy":    {[]*admissionregistrationv1.ValidatingAdmissionPolicy{policy("ours"), policy("theirs", "undefined field")}, ""},
		"a warning of a policy of Slipway": {[]*admissionregistrationv1.ValidatingAdmissionPolicy{policy("ours", "undefined field 'unschedulable'")}, "ValidatingAdmissionPolicy ours: spec.validations[0].expression: undefined field 'unschedulable'"},
	} {
		t.Run(name, func(t *testing.T) {
			kube := fake.NewClientset()
			for _, p := range tc.policies {
				if err := kube.Tracker().Add(p); err != nil {
					t.Fatal(err)
				}
			}
			err := (&Cluster{kube: kube}).checkPolicies(t.Context(), r)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}
