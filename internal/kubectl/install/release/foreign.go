// SPDX-License-Identifier: Apache-2.0

package release

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Foreign are those of the objects in Slipway's namespace that are not of a release and not
// kept by Kubernetes: whoever put them there loses them with the namespace. What is owned is
// not named beside its owner, and DrainRules go with their kind anyway.
func Foreign(everything, inNamespace []*unstructured.Unstructured) []Ref {
	own := map[Ref]bool{}
	for _, o := range everything {
		own[RefOf(o)] = true
	}
	var foreign []Ref
	for _, o := range inNamespace {
		ref := RefOf(o)
		if !own[ref] && metav1.GetControllerOf(o) == nil && !kept(ref) && !slices.Contains(foreign, ref) {
			foreign = append(foreign, ref)
		}
	}
	return foreign
}

// kept says whether Kubernetes keeps such an object in each namespace, or notes there what
// happens to others.
func kept(ref Ref) bool {
	switch ref.Kind.Kind {
	case "Event", "Endpoints", "EndpointSlice":
		return true
	case "ServiceAccount":
		return ref.Name == "default"
	case "ConfigMap":
		return ref.Name == "kube-root-ca.crt"
	case "DrainRule":
		return ref.Kind.Group == slipwayv1alpha1.GroupVersion.Group
	default:
		return false
	}
}
