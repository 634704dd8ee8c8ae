// SPDX-License-Identifier: Apache-2.0

package request

import (
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A CRD takes any time that is not before another.
func TestAHeartbeatOfTheFutureKeepsNoTurn(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]time.Time{
		0:                noon.Add(time.Hour),
		30 * time.Second: noon.Add(time.Hour + 30*time.Second),
		31 * time.Second: noon,
		100 * time.Hour:  noon,
	} {
		now := noon.Add(time.Hour)
		own := evictionv1alpha1.ResponderStatus{StartTime: &metav1.Time{Time: noon}, HeartbeatTime: &metav1.Time{Time: now.Add(ahead)}}
		if got := heartbeat(&own, now); !got.Equal(want) {
			t.Errorf("%s ahead: it was heard of at %s, want %s", ahead, got, want)
		}
	}
}

// managed says who wrote a part of the status, and when.
func managed(manager, subresource, fields string, at time.Time) *evictionv1alpha1.Eviction {
	e := &evictionv1alpha1.Eviction{}
	e.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: manager, Subresource: subresource, Time: &metav1.Time{Time: at}, FieldsV1: metav1.NewFieldsV1(fields),
	}}
	return e
}

func TestWhatShowsThatKubernetesOwnIsAtWork(t *testing.T) {
	const turns, owners = `{"f:status":{"f:targetResponders":{}}}`, `{"f:metadata":{"f:ownerReferences":{}}}`
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	over := managed(KubernetesController, "status", turns, now)
	outcomeCanceled.applyTo(&over.Status.Conditions, 1, now)
	for name, tc := range map[string]struct {
		eviction *evictionv1alpha1.Eviction
		want     bool
	}{
		"it says whose turn it is":          {managed(KubernetesController, "status", turns, now.Add(-time.Minute)), true},
		"it said so long ago":               {managed(KubernetesController, "status", turns, now.Add(-HeartbeatDeadline)), false},
		"of an Eviction that has ended":     {over, false},
		"its garbage collector":             {managed(KubernetesController, "", owners, now), false},
		"a responder":                       {managed("example.com/backup", "status", turns, now), false},
		"a responder by its name":           {managed(KubernetesController, "status", `{"f:status":{"f:responders":{}}}`, now), false},
		"nobody is said to have written it": {&evictionv1alpha1.Eviction{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := IsOfKubernetes(tc.eviction, now); got != tc.want {
				t.Errorf("it is %t", got)
			}
		})
	}
}
