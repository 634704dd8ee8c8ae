// SPDX-License-Identifier: Apache-2.0

package release

import (
	"io/fs"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// evictionRequests is the flag by which the controller acts on them.
const evictionRequests = "eviction-requests"

// withEvictions adds what EvictionRequests need to the objects of a plain manifest: kinds,
// unless the API server has them itself, rights and policies, and the controller's flag.
func withEvictions(files fs.FS, objects []*unstructured.Unstructured, group string) ([]*unstructured.Unstructured, error) {
	added, err := read(files, "install-evictions.yaml")
	if err != nil {
		return nil, err
	}
	added = slices.DeleteFunc(added, func(o *unstructured.Unstructured) bool {
		builtIn := o.GetKind() == "CustomResourceDefinition" && group != lifecyclev1alpha1.GroupKubernetes
		return builtIn || o.GetKind() == "Deployment" // which is that of one mode
	})
	for _, o := range objects {
		if o.GetKind() != "Deployment" || o.GetName() != Controller {
			continue
		}
		containers, err := containersOf(o)
		if err != nil {
			return nil, err
		}
		for _, c := range containers {
			args, _, _ := unstructured.NestedStringSlice(c, "args")
			if err := unstructured.SetNestedStringSlice(c, append(args, "--"+evictionRequests+"=true"), "args"); err != nil {
				return nil, err
			}
		}
	}
	return slices.Insert(objects, 1, added...), nil // after the namespace
}
