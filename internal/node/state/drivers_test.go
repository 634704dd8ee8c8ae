// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestDriversAreReadFromTheAnnotation(t *testing.T) {
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        []string
		known       bool
	}{
		"nobody has said anything": {nil, nil, false},
		"none is registered":       {map[string]string{DriversAnnotation: ""}, nil, true},
		"two are":                  {map[string]string{DriversAnnotation: "a,b.example.com"}, []string{"a", "b.example.com"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}}
			got, known := Drivers(node)
			if diff := cmp.Diff(tc.want, got); diff != "" || known != tc.known {
				t.Errorf("known: %t; (-want +got):\n%s", known, diff)
			}
			if Marked(node) != tc.known {
				t.Errorf("it is marked: %t; want %t", Marked(node), tc.known)
			}
		})
	}
}
