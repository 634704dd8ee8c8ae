// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/slipway-k8s/slipway/config"
)

func TestRightsOfOtherVariantsAreLeftovers(t *testing.T) {
	reduced := []string{
		"ClusterRole slipway-node-agent-reduced", "ClusterRoleBinding slipway-node-agent-reduced",
		"ValidatingAdmissionPolicy agent-nodes.slipway.dev", "ValidatingAdmissionPolicyBinding agent-nodes.slipway.dev",
	}
	central := []string{"ClusterRole slipway-controller-central", "ClusterRoleBinding slipway-controller-central"}
	leases := []string{
		"Role kube-node-maintenance/slipway-controller-leases", "RoleBinding kube-node-maintenance/slipway-controller-leases", "MutatingAdmissionPolicy leases.slipway.dev",
		"MutatingAdmissionPolicyBinding leases.slipway.dev", "ValidatingAdmissionPolicy node-leases.slipway.dev",
	}
	host := []string{
		"DaemonSet slipway-system/slipway-host", "ClusterRole slipway-host", "ClusterRoleBinding slipway-host",
		"ValidatingAdmissionPolicy going-down.slipway.dev", "ValidatingAdmissionPolicyBinding going-down.slipway.dev",
	}
	for name, tc := range map[string]struct {
		choice       Choice
		has, without []string
	}{
		"an agent on each node":       {Choice{Mode: Node, Group: kubernetes, Mutates: true}, append(reduced, central...), nil},
		"without leases any more":     {Choice{Mode: Node, Group: kubernetes, Mutates: true}, leases, nil},
		"with leases":                 {Choice{Mode: Node, Group: kubernetes, Mutates: true, NodeLeases: true}, reduced, leases},
		"without hosts any more":      {Choice{Mode: Node, Group: kubernetes, Mutates: true}, host, []string{"DaemonSet slipway-system/slipway-node-agent"}},
		"with hosts":                  {Choice{Mode: Node, Group: kubernetes, Mutates: true, Host: true}, reduced, host},
		"in the other home":           {Choice{Mode: Node, Group: own, Mutates: true}, append(reduced, central...), nil},
		"with the reduced rights":     {Choice{Mode: Node, Reduced: true, Group: kubernetes}, central, reduced},
		"central":                     {Choice{Mode: Central, Group: kubernetes, Mutates: true}, reduced, central},
		"on a server that is not new": {Choice{Mode: Central, Group: kubernetes}, reduced, central},
	} {
		t.Run(name, func(t *testing.T) {
			leftovers, err := Leftovers(config.Files, newRelease(t, tc.choice))
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, o := range leftovers {
				found[RefOf(o).String()] = true
				if kind := o.GetKind(); kind == "Namespace" || kind == "CustomResourceDefinition" || kind == "Deployment" {
					t.Errorf("%s would go", RefOf(o))
				}
			}
			for _, want := range tc.has {
				if !found[want] {
					t.Errorf("%s would stay", want)
				}
			}
			for _, not := range tc.without {
				if found[not] {
					t.Errorf("%s would go, and is of the release", not)
				}
			}
		})
	}
}

func TestABindingGivesRightsToWhomItNames(t *testing.T) {
	binding := &rbacv1.ClusterRoleBinding{Subjects: []rbacv1.Subject{
		{Kind: rbacv1.GroupKind, Name: "oncall"},
		{Kind: rbacv1.ServiceAccountKind, Namespace: "slipway-system", Name: "slipway-node-agent"},
	}}
	got := map[string]bool{}
	for _, namespace := range []string{"slipway-system", "tenant", ""} {
		got[namespace] = Gives(binding, namespace)
	}
	if diff := cmp.Diff(map[string]bool{"slipway-system": true, "tenant": false, "": false}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
