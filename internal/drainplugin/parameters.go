// SPDX-License-Identifier: Apache-2.0

package drainplugin

import (
	"fmt"

	kjson "sigs.k8s.io/json"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const parametersKind = "DrainParameters"

// parse reads spec.parameters of an event. Fields that it does not know are errors:
// whoever set them wants something that would not happen.
func parse(raw []byte) (*slipwayv1alpha1.DrainParameters, error) {
	parameters := &slipwayv1alpha1.DrainParameters{}
	if len(raw) == 0 {
		return parameters, nil
	}
	strict, err := kjson.UnmarshalStrict(raw, parameters)
	if err != nil {
		return nil, fmt.Errorf("spec.parameters: %w", err)
	}
	if len(strict) > 0 {
		return nil, fmt.Errorf("spec.parameters: %w", strict[0])
	}
	if want := slipwayv1alpha1.GroupVersion.String(); parameters.APIVersion != want || parameters.Kind != parametersKind {
		return nil, fmt.Errorf("spec.parameters: apiVersion %q and kind %q; want %q and %q",
			parameters.APIVersion, parameters.Kind, want, parametersKind)
	}
	if g := parameters.GracePeriodSeconds; g != nil && *g < 0 {
		return nil, fmt.Errorf("spec.parameters.gracePeriodSeconds: %d must not be negative", *g)
	}
	return parameters, nil
}
