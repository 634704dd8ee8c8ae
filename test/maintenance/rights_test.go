// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestWhoMayHaveNodesMaintained: who may delete the nodes, and nobody in another's name
// (KEP-4212).
func TestWhoMayHaveNodesMaintained(t *testing.T) {
	env := harness.Shared(t)
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{rbacv1.AddToScheme, slipwayv1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	admin, err := client.New(env.Admin, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	nodes := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-deletes-nodes"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"delete"}},
	}}
	one := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-deletes-one-node"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"delete"}, ResourceNames: []string{"worker-1"}},
	}}
	for _, o := range []client.Object{
		nodes, one,
		binds("slipway-operator", "operator", "owner", "owner-of-one"), binds(nodes.Name, "owner"), binds(one.Name, "owner-of-one"),
	} {
		if err := admin.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.Background(), o) })
	}
	const all, named = `{stage: Idle}`,
		`{stage: Idle, nodeSelector: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [worker-1]}]}]}}`
	for name, tc := range map[string]struct {
		user, spec string
		refused    string // part of what is said; empty: it is not refused
	}{
		"who may not delete nodes":                   {"operator", all, "spec.nodeSelector: operator needs the verb delete on the nodes"},
		"who may delete all nodes":                   {"owner", all, ""},
		"who may delete one node, and asks for more": {"owner-of-one", all, "spec.nodeSelector: owner-of-one needs the verb delete on the nodes"},
		"who may delete the node that is named":      {"owner-of-one", named, ""},
		"in one's own name":                          {"owner", `{stage: Idle, requestedBy: owner}`, ""},
		"in another's name":                          {"owner", `{stage: Idle, requestedBy: somebody}`, "spec.requestedBy must be owner"},
	} {
		t.Run(name, func(t *testing.T) {
			config := rest.CopyConfig(env.Admin)
			config.Impersonate = rest.ImpersonationConfig{UserName: tc.user}
			as, err := client.New(config, client.Options{Scheme: scheme})
			if err != nil {
				t.Fatal(err)
			}
			err = as.Create(t.Context(), asked(t, tc.spec), client.DryRunAll)
			switch {
			case tc.refused == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tc.refused != "" && (!apierrors.IsForbidden(err) || !strings.Contains(err.Error(), tc.refused)):
				t.Errorf("got %v; want that it is forbidden: %s", err, tc.refused)
			}
		})
	}
}

// binds gives users a role.
func binds(role string, users ...string) *rbacv1.ClusterRoleBinding {
	b := &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "test-" + role}}
	b.RoleRef = rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	for _, user := range users {
		b.Subjects = append(b.Subjects, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user})
	}
	return b
}
