// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The flags by which the controller does what is optional.
const (
	evictionRequests   = "eviction-requests"
	evictionController = "eviction-controller"
	nodeLeases         = "node-leases"
	maintenanceJobs    = "maintenance-jobs"
)

// The settings of the drain driver that its transitions have in them.
const (
	DriverName = "driver-name"
	SLA        = "sla"
)

// LeaseNamespace is that of the Leases of nodes. Other tools have theirs in it as well: it
// is created with the first of them, and never deleted.
const LeaseNamespace = "kube-node-maintenance"

// withOptions adds what is chosen besides to the objects of a plain manifest: kinds, rights
// and policies, and the controller's flags.
func withOptions(files fs.FS, objects []*unstructured.Unstructured, choice Choice) (all []*unstructured.Unstructured, err error) {
	if choice.EvictionRequests {
		if objects, err = withOption(files, objects, "install-evictions.yaml", evictionRequests, choice); err != nil {
			return nil, err
		}
		if choice.KubernetesEvicts {
			if err := addArgument(objects, "--"+evictionController+"=false"); err != nil {
				return nil, err
			}
		}
	}
	if choice.NodeLeases {
		if objects, err = withOption(files, objects, "install-leases.yaml", nodeLeases, choice); err != nil {
			return nil, err
		}
	}
	if choice.MaintenanceJobs {
		if objects, err = withOption(files, objects, "install-jobs.yaml", maintenanceJobs, choice); err != nil {
			return nil, err
		}
	}
	if choice.Host {
		return withHost(files, objects, choice.HostUser)
	}
	return objects, nil
}

// withHost adds slipway-host, run as that user; 0 is root.
func withHost(files fs.FS, objects []*unstructured.Unstructured, user int64) ([]*unstructured.Unstructured, error) {
	added, err := read(files, "install-host.yaml")
	if err != nil {
		return nil, err
	}
	for _, o := range added {
		if o.GetKind() != "DaemonSet" {
			continue
		}
		for _, field := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
			if err := unstructured.SetNestedField(o.Object, user, "spec", "template", "spec", "securityContext", field); err != nil {
				return nil, fmt.Errorf("%s: %w", RefOf(o), err)
			}
		}
	}
	return append(objects, added...), nil
}

func withOption(files fs.FS, objects []*unstructured.Unstructured, file, flag string, choice Choice) ([]*unstructured.Unstructured, error) {
	added, err := read(files, file)
	if err != nil {
		return nil, err
	}
	added = slices.DeleteFunc(added, func(o *unstructured.Unstructured) bool {
		// Kinds that the API server has itself, and the Deployment, which is that of one mode.
		builtIn := o.GetKind() == "CustomResourceDefinition" && choice.Group != lifecyclev1alpha1.GroupKubernetes
		return builtIn || o.GetKind() == "Deployment"
	})
	if err := addArgument(objects, "--"+flag+"=true"); err != nil {
		return nil, err
	}
	return slices.Insert(objects, 1, added...), nil // after the namespace
}

// addArgument gives the controller another argument.
func addArgument(objects []*unstructured.Unstructured, argument string) error {
	for _, o := range objects {
		if o.GetKind() != "Deployment" || o.GetName() != Controller {
			continue
		}
		containers, err := containersOf(o)
		if err != nil {
			return err
		}
		for _, c := range containers {
			args, _, _ := unstructured.NestedStringSlice(c, "args")
			if err := unstructured.SetNestedStringSlice(c, append(args, argument), "args"); err != nil {
				return err
			}
		}
	}
	return nil
}
