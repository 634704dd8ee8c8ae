// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"encoding/json"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// asksForAll says whether the event wants all its pods to be evicted by request, also
// those for which nobody responds but the responder that comes last. Parameters that
// cannot be read have no mode: it is the driver that says what is wrong with them.
func asksForAll(e *lifecyclev1alpha1.LifecycleEvent) bool {
	var parameters struct {
		Mode slipwayv1alpha1.DrainMode `json:"mode"`
	}
	return e.Spec.Parameters != nil && json.Unmarshal(e.Spec.Parameters.Raw, &parameters) == nil && parameters.Mode == slipwayv1alpha1.DrainEvictionRequest
}
