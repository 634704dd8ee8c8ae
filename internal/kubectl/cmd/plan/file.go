// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"errors"
	"fmt"
	"io"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
)

// planFile is the content of a file: a maintenance, or how to drain.
type planFile struct {
	maintenance *slipwayv1alpha1.NodeMaintenance
	// node and parameters come from the event; both may be empty.
	node       string
	parameters []byte
}

// readPlanFile reads a NodeMaintenance, a LifecycleEvent, or the parameters of one.
func readPlanFile(t *cli.Tool, name string) (file planFile, err error) {
	var text []byte
	if name == "-" {
		text, err = io.ReadAll(t.In)
	} else {
		text, err = os.ReadFile(name)
	}
	if err != nil {
		return file, fmt.Errorf("--filename: %w", err)
	}
	var kind struct {
		Kind string `json:"kind"`
	}
	if err := yaml.Unmarshal(text, &kind); err != nil {
		return file, fmt.Errorf("--filename %s: %w", name, err)
	}
	switch kind.Kind {
	case "NodeMaintenance":
		file.maintenance, err = maintenanceIn(text)
	case "DrainParameters":
		file.parameters, err = yaml.YAMLToJSON(text)
	case "LifecycleEvent":
		var event lifecyclev1alpha1.LifecycleEvent
		if err = yaml.UnmarshalStrict(text, &event); err == nil && event.Spec.Parameters != nil {
			file.parameters = event.Spec.Parameters.Raw
		}
		file.node = event.Spec.BindingNode
		if name := event.Spec.TransitionName; err == nil && name != lifecyclev1alpha1.DrainTransition {
			err = fmt.Errorf("transition %q is not %s; if it is still a drain, give only its parameters, of kind DrainParameters",
				name, lifecyclev1alpha1.DrainTransition)
		}
	default:
		err = fmt.Errorf("kind %q is none of: LifecycleEvent, DrainParameters, NodeMaintenance", kind.Kind)
	}
	if err != nil {
		return planFile{}, fmt.Errorf("--filename %s: %w", name, err)
	}
	return file, nil
}

// maintenanceIn reads a NodeMaintenance.
func maintenanceIn(text []byte) (*slipwayv1alpha1.NodeMaintenance, error) {
	m := &slipwayv1alpha1.NodeMaintenance{}
	if err := yaml.UnmarshalStrict(text, m); err != nil {
		return nil, err
	}
	if want := slipwayv1alpha1.GroupVersion.String(); m.APIVersion != want {
		return nil, fmt.Errorf("apiVersion of the NodeMaintenance is %q, not %s", m.APIVersion, want)
	}
	if m.Name == "" {
		return nil, errors.New("metadata.name of the NodeMaintenance is missing")
	}
	m.ObjectMeta, m.Status = metav1.ObjectMeta{Name: m.Name}, slipwayv1alpha1.NodeMaintenanceStatus{} // the server has its own
	return m, nil
}
