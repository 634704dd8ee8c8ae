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

// Anyone with access to the status can forge a field manager: what it shows is limited, and ends.
func TestHowLongAnEvictionIsLeftToKubernetesOwnController(t *testing.T) {
	const turns, owners, reports = `{"f:status":{"f:targetResponders":{}}}`, `{"f:metadata":{"f:ownerReferences":{}}}`, `{"f:status":{"f:responders":{}}}`
	kubernetes := KubernetesControllers[1]
	for name, tc := range map[string]struct {
		manager, subresource, fields string
		age                          time.Duration
		ended                        bool
		want                         time.Duration
	}{
		"it has written the active responder": {kubernetes, "status", turns, time.Minute, false, 19 * time.Minute},
		"by its other name":                   {KubernetesControllers[0], "status", turns, 0, false, 20 * time.Minute},
		"it wrote too long ago":               {kubernetes, "status", turns, 20 * time.Minute, false, 0},
		"a time that only a forger writes":    {kubernetes, "status", turns, -time.Minute, false, 0},
		"of an Eviction that has ended":       {kubernetes, "status", turns, 0, true, 0},
		"its garbage collector":               {kubernetes, "", owners, 0, false, 0},
		"a responder":                         {"example.com/backup", "status", turns, 0, false, 0},
		"a responder by its name":             {kubernetes, "status", reports, 0, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			e := managed(tc.manager, tc.subresource, tc.fields, epoch.Add(-tc.age))
			e.ManagedFields = append(e.ManagedFields, metav1.ManagedFieldsEntry{Manager: kubernetes, Subresource: "status"})
			if tc.ended {
				outcomeCanceled.applyTo(&e.Status.Conditions, 1, epoch)
			}
			f := onePod()
			f.Evictions = []*evictionv1alpha1.Eviction{e}
			d := Next(f, epoch)
			if want := tc.want > 0; d.Yields != want || want && (d.Step != nil || d.Wake.Sub(epoch) != tc.want) {
				t.Errorf("it yields: %t, until %s; want %s", d.Yields, d.Wake, tc.want)
			}
			KeepLeader(e)
			if again := Next(f, epoch); again.Yields != d.Yields {
				t.Error("without the other managed fields it decides otherwise")
			}
		})
	}
}
