// SPDX-License-Identifier: Apache-2.0

package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheHomeOfTheAPIIsRememberedWithTheTimeOfItsLastMove(t *testing.T) {
	now := epoch.Add(time.Hour + 300*time.Millisecond)
	for name, tc := range map[string]struct {
		annotation  string
		want        homeMemory
		wantChanged bool
	}{
		"never seen":           {"", homeMemory{Group: "g"}, true},
		"unreadable":           {"g", homeMemory{Group: "g"}, true},
		"empty":                {"{}", homeMemory{Group: "g"}, true},
		"where it was":         {`{"group":"g"}`, homeMemory{Group: "g"}, false},
		"where it moved once":  {`{"group":"g","since":"2026-01-02T03:04:05Z"}`, homeMemory{Group: "g", Since: epoch}, false},
		"in the future":        {`{"group":"g","since":"2999-01-02T03:04:05Z"}`, homeMemory{Group: "g", Since: epoch.Add(time.Hour)}, true},
		"moved":                {`{"group":"h"}`, homeMemory{Group: "g", Since: epoch.Add(time.Hour)}, true},
		"moved for the second": {`{"group":"h","since":"2026-01-02T03:04:05Z"}`, homeMemory{Group: "g", Since: epoch.Add(time.Hour)}, true},
	} {
		t.Run(name, func(t *testing.T) {
			node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{}}}
			if tc.annotation != "" {
				node.Annotations[HomeAnnotation] = tc.annotation
			}
			got, changed := movedHome(node, "g", now)
			if diff := cmp.Diff(tc.want, got); diff != "" || changed != tc.wantChanged {
				t.Errorf("changed is %v; want %v (-want +got):\n%s", changed, tc.wantChanged, diff)
			}
		})
	}
}
