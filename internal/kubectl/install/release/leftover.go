// SPDX-License-Identifier: Apache-2.0

package release

import (
	"io/fs"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ReducedRights are the ClusterRoleBinding of the weaker variant's rights.
const ReducedRights = "slipway-node-agent-reduced"

// Leftovers are the rights of other variants and modes, and the policies that limit them:
// where they are on a cluster beside the release, somebody may do what the release says
// nobody may. Rights come before the policies that limit them. slipway-host goes before its rights:
// without them, it would hold machines, and nobody would drain their nodes.
func Leftovers(files fs.FS, r Release) ([]*unstructured.Unstructured, error) {
	everything, err := Everything(files)
	if err != nil {
		return nil, err
	}
	wanted := map[Ref]bool{}
	for _, o := range r.All() {
		wanted[RefOf(o)] = true
	}
	left := slices.DeleteFunc(everything, func(o *unstructured.Unstructured) bool {
		return wanted[RefOf(o)] || !goes(o)
	})
	slices.SortStableFunc(left, func(a, b *unstructured.Unstructured) int { return rank(a) - rank(b) })
	return left, nil
}

// rank has slipway-host go before its rights do.
func rank(o *unstructured.Unstructured) int {
	if o.GetKind() == "DaemonSet" {
		return 0
	}
	return 1
}

// goes says whether an object is about who may do what, or when; or works with such rights alone.
func goes(o *unstructured.Unstructured) bool {
	switch o.GetKind() {
	case "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
		return true
	// A gate that nobody removes would hold back all events.
	case "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding":
		return true
	case "DaemonSet":
		return o.GetName() == Hosts
	default:
		return false
	}
}

// Gives says whether the binding gives rights to an account of the namespace.
func Gives(binding *rbacv1.ClusterRoleBinding, namespace string) bool {
	return slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool {
		return s.Kind == rbacv1.ServiceAccountKind && s.Namespace == namespace
	})
}
