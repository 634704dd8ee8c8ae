// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"os"

	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/ask"
)

// readPlanFile reads a LifecycleEvent, or the parameters of one. The node is that of the
// event, if it is bound to one.
func (t *tool) readPlanFile(name string) (node string, parameters []byte, err error) {
	var text []byte
	if name == "-" {
		text, err = io.ReadAll(t.In)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return "", nil, fmt.Errorf("--filename: %w", err)
	}
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return "", nil, fmt.Errorf("--filename %s: %w", name, err)
	}
	switch kind.Kind {
	case "DrainParameters":
		parameters, err = yaml.YAMLToJSON(text)
	case "LifecycleEvent":
		var event lifecyclev1alpha1.LifecycleEvent
		if err = yaml.UnmarshalStrict(text, &event); err == nil && event.Spec.Parameters != nil {
			parameters = event.Spec.Parameters.Raw
		}
		node = event.Spec.BindingNode
		if name := event.Spec.TransitionName; err == nil && name != ask.DrainTransition {
			err = fmt.Errorf("transition %q is not %s; if it is a drain all the same, give its parameters alone, of kind DrainParameters",
				name, ask.DrainTransition)
		}
	default:
		err = fmt.Errorf("kind %q is neither LifecycleEvent nor DrainParameters", kind.Kind)
	}
	if err != nil {
		return "", nil, fmt.Errorf("--filename %s: %w", name, err)
	}
	return node, parameters, nil
}
