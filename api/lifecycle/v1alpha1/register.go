// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// GroupKubernetes is the API group of the SLM design, and the home of the two
	// kinds on a server that does not serve this group itself.
	GroupKubernetes = "lifecycle.k8s.io"
	// GroupSlipway is the home of the two kinds on a server whose built-in
	// lifecycle.k8s.io group (EvictionRequest, Kubernetes 1.37) is on: a CRD
	// cannot add kinds to a group that the server serves itself.
	GroupSlipway = "slm.slipway.dev"
	// Version is the API version in either home.
	Version = "v1alpha1"
)

// AddToScheme registers both kinds in the given group. One scheme holds them in
// one group only, so that each Go type has one kind.
func AddToScheme(scheme *runtime.Scheme, group string) {
	gv := schema.GroupVersion{Group: group, Version: Version}
	scheme.AddKnownTypes(gv,
		&LifecycleTransition{}, &LifecycleTransitionList{},
		&LifecycleEvent{}, &LifecycleEventList{},
	)
	metav1.AddToGroupVersion(scheme, gv)
}
