// SPDX-License-Identifier: Apache-2.0

package parameters

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kjson "sigs.k8s.io/json"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

const parametersKind = "DrainParameters"

// parse reads spec.parameters of an event. Unknown fields are errors: they would have no effect.
func parse(raw []byte) (*slipwayv1alpha1.DrainParameters, error) {
	parameters := &slipwayv1alpha1.DrainParameters{}
	if len(raw) == 0 {
		return parameters, nil
	}
	if err := checkDurations(raw); err != nil {
		return nil, err
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
	return parameters, nil
}

// durations are the fields whose names the errors of the decoder lack.
var durations = [][]string{
	{"podTimeout"},
	{"escalation", "deleteAfter"},
	{"escalation", "killAfter"},
	{"volumeTimeout"},
}

// checkDurations returns an error with the name of the field for an invalid or negative duration. The decoder finds other
// errors.
func checkDurations(raw []byte) error {
	var all map[string]any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(raw, &all); err != nil {
		return nil //nolint:nilerr // the decoder has a better error
	}
	for _, path := range durations {
		value, found, err := unstructured.NestedFieldNoCopy(all, path...)
		if err != nil || !found || value == nil {
			continue
		}
		field := "spec.parameters." + strings.Join(path, ".")
		text, ok := value.(string)
		if !ok {
			return fmt.Errorf(`%s: %v is not a duration; want a text such as "90s" or "1h30m"`, field, value)
		}
		switch d, err := time.ParseDuration(text); {
		case err != nil:
			return fmt.Errorf(`%s: %q is not a duration; want one such as "90s" or "1h30m"`, field, text)
		case d < 0:
			return fmt.Errorf("%s: %s must not be negative", field, text)
		}
	}
	return nil
}
