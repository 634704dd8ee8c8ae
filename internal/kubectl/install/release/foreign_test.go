// SPDX-License-Identifier: Apache-2.0

package release

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/config"
)

// there is an object in Slipway's namespace.
func there(apiVersion, kind, name string, owners ...metav1.OwnerReference) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetAPIVersion(apiVersion)
	o.SetKind(kind)
	o.SetNamespace(Namespace)
	o.SetName(name)
	o.SetOwnerReferences(owners)
	return o
}

func TestWhatSomebodyElseHasInTheNamespaceIsForeign(t *testing.T) {
	everything, err := Everything(config.Files)
	if err != nil {
		t.Fatal(err)
	}
	yes := true
	owner := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "any", Controller: &yes}
	got := Foreign(everything, []*unstructured.Unstructured{
		there("apps/v1", "Deployment", Controller),
		there("apps/v1", "DaemonSet", Agents),
		there("v1", "ServiceAccount", Controller),
		there("coordination.k8s.io/v1", "Lease", Controller),
		there("v1", "Pod", "slipway-node-agent-x", owner),
		there("v1", "ServiceAccount", "default"),
		there("v1", "ConfigMap", "kube-root-ca.crt"),
		there("v1", "Event", "a.1"), there("events.k8s.io/v1", "Event", "a.1"),
		there("slipway.dev/v1alpha1", "DrainRule", "batch"),

		there("v1", "Secret", "registry"),
		there("apps/v1", "Deployment", "dashboard"),
		there("v1", "Pod", "debug"),
		there("v1", "ServiceAccount", "ada"),
	})
	var names []string
	for _, ref := range got {
		names = append(names, ref.String())
	}
	want := []string{
		"Secret slipway-system/registry", "Deployment slipway-system/dashboard", "Pod slipway-system/debug", "ServiceAccount slipway-system/ada",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
