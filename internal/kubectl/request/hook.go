// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// hookPoints are the moments of hooks, as flags have them.
var hookPoints = map[string]slipwayv1alpha1.HookPoint{
	"before-drain":  slipwayv1alpha1.BeforeDrain,
	"after-drain":   slipwayv1alpha1.AfterDrain,
	"before-return": slipwayv1alpha1.BeforeReturn,
}

// hookTimeouts are what happens when nobody opens a hook in time, as flags have it.
var hookTimeouts = map[string]slipwayv1alpha1.HookTimeout{
	"fail":    slipwayv1alpha1.HookFails,
	"proceed": slipwayv1alpha1.HookProceeds,
}

// hooks reads NAME@MOMENT[:TIMEOUT[:proceed]], several times.
func hooks(texts []string) ([]slipwayv1alpha1.MaintenanceHook, error) {
	var all []slipwayv1alpha1.MaintenanceHook
	for _, text := range texts {
		hook, err := hookOf(text)
		if err != nil {
			return nil, fmt.Errorf("--hook %q: %w", text, err)
		}
		if slices.ContainsFunc(all, func(h slipwayv1alpha1.MaintenanceHook) bool { return h.Name == hook.Name }) {
			return nil, fmt.Errorf("--hook: there are two of the name %s", hook.Name)
		}
		all = append(all, hook)
	}
	return all, nil
}

func hookOf(text string) (hook slipwayv1alpha1.MaintenanceHook, err error) {
	name, rest, found := strings.Cut(text, "@")
	if !found {
		return hook, fmt.Errorf("write NAME@before-drain, NAME@after-drain or NAME@before-return, and :TIMEOUT after it if there is one")
	}
	if wrong := validation.IsDNS1123Label(name); len(wrong) > 0 {
		return hook, fmt.Errorf("%q is no name of a hook: %s", name, wrong[0])
	}
	parts := strings.Split(rest, ":")
	at, known := hookPoints[parts[0]]
	if !known {
		return hook, fmt.Errorf("%q is not before-drain, after-drain or before-return", parts[0])
	}
	hook = slipwayv1alpha1.MaintenanceHook{Name: name, At: at}
	if len(parts) > 1 {
		timeout, err := time.ParseDuration(parts[1])
		if err != nil || timeout <= 0 {
			return hook, fmt.Errorf("%q is not how long it is waited for, such as 30m", parts[1])
		}
		hook.Timeout = &metav1.Duration{Duration: timeout}
	}
	if len(parts) > 2 {
		if hook.OnTimeout, known = hookTimeouts[parts[2]]; !known || len(parts) > 3 {
			return hook, fmt.Errorf("%q is not what happens then: proceed or fail", strings.Join(parts[2:], ":"))
		}
	}
	return hook, nil
}
