// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// own is the namespace of Slipway: that of the account which has the controller's rights.
// Pods do not tell it, because anybody can give theirs any labels. Where nobody has these
// rights, or it may not be read who has, it is the one of the plain manifests.
func (r *Reader) own(ctx context.Context) (string, error) {
	var binding rbacv1.ClusterRoleBinding
	err := r.client.Get(ctx, client.ObjectKey{Name: controllerName}, &binding)
	for _, s := range binding.Subjects {
		if err == nil && s.Kind == rbacv1.ServiceAccountKind && s.Namespace != "" {
			return s.Namespace, nil
		}
	}
	return defaultNamespace, client.IgnoreNotFound(err)
}
