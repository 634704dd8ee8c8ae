// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// Kinds are those of a home, and NodeMaintenance, for who reads and watches all of them.
func Kinds(h apigroup.Home) (*runtime.Scheme, meta.RESTMapper, error) {
	scheme := h.Scheme()
	if err := slipwayv1alpha1.AddToScheme(scheme); err != nil {
		return nil, nil, err
	}
	own := meta.NewDefaultRESTMapper([]schema.GroupVersion{slipwayv1alpha1.GroupVersion})
	own.Add(slipwayv1alpha1.GroupVersion.WithKind("NodeMaintenance"), meta.RESTScopeRoot)
	return scheme, meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{h.Mapper(), own}}, nil
}
