// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatALabelSays(t *testing.T) {
	for value, want := range map[string]struct{ wanted, said bool }{
		"true": {true, true}, "false": {false, true}, "": {false, false}, "yes": {false, false}, "1": {false, false},
	} {
		wanted, said := OptIn(map[string]string{Responder: value})
		if wanted != want.wanted || said != want.said {
			t.Errorf("%q: wanted %t, said %t", value, wanted, said)
		}
	}
	if _, said := OptIn(nil); said {
		t.Error("no label says something")
	}
}

func TestWhichPodsLookLikeADeployments(t *testing.T) {
	controller := func(kind string) []metav1.OwnerReference {
		return []metav1.OwnerReference{{APIVersion: appsv1.SchemeGroupVersion.String(), Kind: kind, Name: "web", Controller: new(true)}}
	}
	hashed := map[string]string{LabelHash: hash}
	for name, tc := range map[string]struct {
		pod  metav1.ObjectMeta
		want bool
	}{
		"a Deployment's":           {metav1.ObjectMeta{Labels: hashed, OwnerReferences: controller("ReplicaSet")}, true},
		"a ReplicaSet's":           {metav1.ObjectMeta{OwnerReferences: controller("ReplicaSet")}, false},
		"a StatefulSet's":          {metav1.ObjectMeta{Labels: hashed, OwnerReferences: controller("StatefulSet")}, false},
		"nobody's":                 {metav1.ObjectMeta{Labels: hashed}, false},
		"one that was released":    {metav1.ObjectMeta{Annotations: map[string]string{AnnotationHash: hash}}, true},
		"a ReplicaSet's of others": {metav1.ObjectMeta{Labels: hashed, OwnerReferences: []metav1.OwnerReference{{APIVersion: "example.com/v1", Kind: "ReplicaSet", Controller: new(true)}}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsCandidate(&corev1.Pod{ObjectMeta: tc.pod}); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
