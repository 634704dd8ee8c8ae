// SPDX-License-Identifier: Apache-2.0

package release

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// Names of what an installation consists of.
const (
	Namespace  = "slipway-system"
	Controller = "slipway-controller" // the Deployment
	Agents     = "slipway-node-agent" // the DaemonSet
	Hosts      = "slipway-host"       // the DaemonSet that is optional
)

// HostUser is who slipway-host runs as, unless told otherwise: nobody, whom each machine knows.
// dbus-daemon turns away those that it does not know.
const HostUser = 65534

// Mode says who does the work.
type Mode string

// The modes of config/.
const (
	// Node: an agent on each node.
	Node Mode = "node"
	// Central: the controller, for all nodes.
	Central Mode = "central"
)

// Choice is what an installation depends on.
type Choice struct {
	Mode Mode
	// Reduced: the agents' weaker rights, for servers without constrained impersonation.
	Reduced bool
	// EvictionRequests: the controller acts on them.
	EvictionRequests bool
	// KubernetesEvicts: the server has the evictionrequest-controller and the last responder itself.
	KubernetesEvicts bool
	// NodeLeases: the controller takes the leases of the nodes that Slipway works on.
	NodeLeases bool
	// MaintenanceJobs: the controller creates Jobs for maintenances.
	MaintenanceJobs bool
	// Host: slipway-host on each machine holds its shutdown until the node is drained. It runs
	// as HostUser.
	Host     bool
	HostUser int64
	// ThirdPartyDrivers: agents watch the host's folder for drivers of other pods.
	ThirdPartyDrivers bool
	// SeparateDrain: the drain driver is one of these, from deploy/.
	SeparateDrain bool
	// Drain are the settings of the drain driver, by flags; nil: those of config/.
	Drain map[string]string
	// Group is the API group of LifecycleEvents.
	Group string
	// Mutates: the server has MutatingAdmissionPolicies.
	Mutates bool
	// Image is that of controller and agents. Empty: that of config/.
	Image string
}

// Release is what is installed.
type Release struct {
	// Objects are in the order in which they are applied.
	Objects []*unstructured.Unstructured
	// Transitions can be applied when their kind is served.
	Transitions []*unstructured.Unstructured
}

// All are the objects and the transitions.
func (r Release) All() []*unstructured.Unstructured { return slices.Concat(r.Objects, r.Transitions) }

// New is the release of the given files, which are those of config/.
func New(files fs.FS, choice Choice) (Release, error) {
	name := "install.yaml"
	switch {
	case choice.Mode == Central:
		name = "install-central.yaml"
	case choice.Reduced:
		name = "install-reduced.yaml"
	}
	objects, err := read(files, name)
	if err != nil {
		return Release{}, err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return !choice.Mutates && strings.HasPrefix(o.GetKind(), "MutatingAdmissionPolicy")
	})
	if objects, err = atHome(files, objects, choice.Group); err != nil {
		return Release{}, err
	}
	if objects, err = withOptions(files, objects, choice); err != nil {
		return Release{}, err
	}
	for _, o := range objects {
		if err := setImage(o, choice.Image); err != nil {
			return Release{}, err
		}
	}
	transitions, err := readAll(files, "transitions/"+choice.Group)
	if err != nil {
		return Release{}, err
	}
	return Release{Objects: objects, Transitions: transitions}, withDrain(objects, transitions, choice)
}

// Everything is what any release may have put onto a cluster, in the order in which it is
// applied, with the Lease of the controllers, which they create. Objects that several have
// are in it once. The namespaces of the nodes' Leases and of Jobs are not: others have their objects in them.
func Everything(files fs.FS) ([]*unstructured.Unstructured, error) {
	var all []*unstructured.Unstructured
	seen := map[Ref]bool{}
	for _, group := range []string{lifecyclev1alpha1.GroupKubernetes, lifecyclev1alpha1.GroupSlipway} {
		for _, choice := range []Choice{{Mode: Node}, {Mode: Node, Reduced: true}, {Mode: Central}} {
			choice.Group, choice.Mutates, choice.EvictionRequests, choice.NodeLeases, choice.Host, choice.MaintenanceJobs = group, true, true, true, true, true
			r, err := New(files, choice)
			if err != nil {
				return nil, err
			}
			for _, o := range r.All() {
				if ref := RefOf(o); !seen[ref] && !isShared(o) {
					seen[ref] = true
					all = append(all, o)
				}
			}
		}
	}
	return slices.Insert(all, 1, lease()), nil // after the namespace
}

// isShared reports whether an object stays: other tools have their Leases in it, or administrators their PodTemplates.
func isShared(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Namespace" && (o.GetName() == LeaseNamespace || o.GetName() == maintenance.JobNamespace(Namespace))
}

// lease is how the controllers agree on who of them works.
func lease() *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion("coordination.k8s.io/v1")
	o.SetKind("Lease")
	o.SetNamespace(Namespace)
	o.SetName(Controller)
	return o
}

// atHome has the CRDs of the given home in the place of those that are in the plain
// manifests.
func atHome(files fs.FS, objects []*unstructured.Unstructured, group string) ([]*unstructured.Unstructured, error) {
	if group == lifecyclev1alpha1.GroupKubernetes {
		return objects, nil
	}
	others, err := readAll(files, "crd/"+group)
	if err != nil {
		return nil, err
	}
	at := -1
	var left []*unstructured.Unstructured
	for _, o := range objects {
		if !strings.HasSuffix(o.GetName(), "."+lifecyclev1alpha1.GroupKubernetes) || o.GetKind() != "CustomResourceDefinition" {
			left = append(left, o)
		} else if at < 0 {
			at = len(left)
		}
	}
	return slices.Insert(left, at, others...), nil
}

// setImage changes the image of a workload's containers.
func setImage(o *unstructured.Unstructured, image string) error {
	if image == "" || (o.GetKind() != "Deployment" && o.GetKind() != "DaemonSet") {
		return nil
	}
	containers, err := containersOf(o)
	if err != nil {
		return err
	}
	for _, c := range containers {
		c["image"] = image
	}
	return nil
}

// Image returns the image of the workloads; empty if there is none.
func (r Release) Image() string {
	for _, o := range r.Objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		containers, err := containersOf(o)
		if err != nil || len(containers) == 0 {
			continue
		}
		image, _ := containers[0]["image"].(string)
		return image
	}
	return ""
}

// containersOf are the containers of a workload, to read or to change.
func containersOf(o *unstructured.Unstructured) ([]map[string]any, error) {
	list, _, err := unstructured.NestedFieldNoCopy(o.Object, "spec", "template", "spec", "containers")
	containers, ok := list.([]any)
	if err != nil || !ok {
		return nil, fmt.Errorf("%s has no containers: %w", RefOf(o), err)
	}
	var found []map[string]any
	for _, c := range containers {
		if c, ok := c.(map[string]any); ok {
			found = append(found, c)
		}
	}
	return found, nil
}

func readAll(files fs.FS, dir string) (objects []*unstructured.Unstructured, err error) {
	names, err := fs.Glob(files, dir+"/*.yaml")
	if err != nil || len(names) == 0 {
		return nil, fmt.Errorf("read %s: no manifests: %w", dir, err)
	}
	for _, name := range names {
		some, err := read(files, name)
		if err != nil {
			return nil, err
		}
		objects = append(objects, some...)
	}
	return objects, nil
}

func read(files fs.FS, name string) (objects []*unstructured.Unstructured, err error) {
	text, err := fs.ReadFile(files, name)
	if err != nil {
		return nil, err
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// Ref names an object.
type Ref struct {
	Kind      schema.GroupKind
	Namespace string
	Name      string
}

// RefOf is the name of an object.
func RefOf(o *unstructured.Unstructured) Ref {
	return Ref{Kind: o.GroupVersionKind().GroupKind(), Namespace: o.GetNamespace(), Name: o.GetName()}
}

// String is for people.
func (r Ref) String() string {
	if r.Namespace != "" {
		return r.Kind.Kind + " " + r.Namespace + "/" + r.Name
	}
	return r.Kind.Kind + " " + r.Name
}
