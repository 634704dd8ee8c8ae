// SPDX-License-Identifier: Apache-2.0

package release

import (
	"reflect"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Verdict is what installing does to an object.
type Verdict string

// The verdicts.
const (
	Create Verdict = "create"
	Change Verdict = "change"
	Same   Verdict = "unchanged"
	// Delete is for what another variant has left.
	Delete Verdict = "delete"
)

// Compare says what applying an object does: live is the object of the cluster, or nil;
// applied is what the API server says it would be.
func Compare(live, applied *unstructured.Unstructured) Verdict {
	switch {
	case live == nil:
		return Create
	case reflect.DeepEqual(essence(live), essence(applied)):
		return Same
	default:
		return Change
	}
}

// essence is an object without what the server keeps of it.
func essence(o *unstructured.Unstructured) map[string]any {
	o = o.DeepCopy()
	o.SetManagedFields(nil)
	o.SetResourceVersion("")
	o.SetGeneration(0)
	unstructured.RemoveNestedField(o.Object, "status")
	return o.Object
}

// HelmRelease returns the release of Helm that an object belongs to, by the annotations of Helm. Empty: none.
func HelmRelease(o *unstructured.Unstructured) (name, namespace string) {
	annotations := o.GetAnnotations()
	return annotations["meta.helm.sh/release-name"], annotations["meta.helm.sh/release-namespace"]
}

// DeletionOrder is that in which objects go: who works first, what holds others to
// something last.
func DeletionOrder(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	objects = slices.Clone(objects)
	slices.Reverse(objects)
	return objects
}
