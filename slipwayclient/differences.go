// SPDX-License-Identifier: Apache-2.0

package slipwayclient

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// Differences lists the differences between an existing event and a wanted one. If there are none,
// [Client.Request] returns the existing event. It ignores the reason, the requester, the expected return, and guards that only
// the existing event allows.
func Differences(there, wanted *lifecyclev1alpha1.LifecycleEvent) []string {
	is, want := fields(&there.Spec), fields(&wanted.Spec)
	keys := maps.Clone(is)
	maps.Copy(keys, want)
	var all []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if is[key] != want[key] {
			all = append(all, fmt.Sprintf("%s is %s there, and %s here", key, cmp.Or(is[key], "not set"), cmp.Or(want[key], "not set")))
		}
	}
	for _, guard := range wanted.Spec.Allow {
		if !slices.Contains(there.Spec.Allow, guard) {
			all = append(all, fmt.Sprintf("spec.allow does not list %s there", guard))
		}
	}
	return all
}

// fields returns the compared fields as texts.
func fields(spec *lifecyclev1alpha1.LifecycleEventSpec) map[string]string {
	all := map[string]string{"spec.transitionName": spec.TransitionName, "spec.bindingNode": spec.BindingNode}
	if spec.Actor != "" {
		all["spec.actor"] = spec.Actor
	}
	if spec.SLA != nil {
		all["spec.sla"] = spec.SLA.Duration.String()
	}
	if spec.Parameters == nil {
		return all
	}
	var value any = string(spec.Parameters.Raw)
	var decoded any
	if err := json.Unmarshal(spec.Parameters.Raw, &decoded); err == nil {
		value = decoded
	}
	flatten("spec.parameters", value, all)
	return all
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
