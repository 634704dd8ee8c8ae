// SPDX-License-Identifier: Apache-2.0

package request

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Differences are what an event does otherwise than one that is wanted: none if who wants
// it can follow the one that is there. Why it was asked for, and by whom, is no
// difference; nor is a guard that it allows besides.
func Differences(there, wanted *lifecyclev1alpha1.LifecycleEvent) []string {
	is, want := fields(&there.Spec), fields(&wanted.Spec)
	keys := maps.Clone(is)
	maps.Copy(keys, want)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if is[key] != want[key] {
			all = append(all, fmt.Sprintf("%s is %s there, and %s here", key, orUnset(is[key]), orUnset(want[key])))
		}
	}
	for _, guard := range wanted.Spec.Allow {
		if !slices.Contains(there.Spec.Allow, guard) {
			all = append(all, fmt.Sprintf("spec.allow does not list %s there", guard))
		}
	}
	return all
}

func orUnset(text string) string {
	if text == "" {
		return "not set"
	}
	return text
}

// fields are the fields that say what is done, each with its value as a text.
func fields(spec *lifecyclev1alpha1.LifecycleEventSpec) map[string]string {
	all := map[string]string{"spec.transitionName": spec.TransitionName, "spec.bindingNode": spec.BindingNode}
	if spec.SLA != nil {
		all["spec.sla"] = spec.SLA.Duration.String()
	}
	flatten("spec.parameters", content(spec.Parameters), all)
	return all
}

func content(parameters *runtime.RawExtension) any {
	if parameters == nil {
		return nil
	}
	var value any
	if err := json.Unmarshal(parameters.Raw, &value); err != nil {
		return string(parameters.Raw) // not JSON: it differs from what is
	}
	return value
}

func flatten(path string, value any, into map[string]string) {
	switch v := value.(type) {
	case nil:
	case map[string]any:
		for key, inner := range v {
			flatten(path+"."+key, inner, into)
		}
	case []any:
		for i, inner := range v {
			flatten(fmt.Sprintf("%s[%d]", path, i), inner, into)
		}
	default:
		into[path] = fmt.Sprint(v)
	}
}
