// SPDX-License-Identifier: Apache-2.0

package cordon

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestAForeignCordonIsNamedForPeople(t *testing.T) {
	for want, cordon := range map[string]Foreign{
		`another party`:                         {},
		`"kubectl"`:                             {By: "kubectl"},
		`"kubectl" at 2026-01-02T03:04:05Z`:     {By: "kubectl", Since: epoch.In(time.FixedZone("", 3600))},
		`another party at 2026-01-02T03:04:05Z`: {Since: epoch},
	} {
		if got := cordon.String(); got != want {
			t.Errorf("got %q; want %q", got, want)
		}
	}
}

func TestWhatIsNotedOnANodeIsReadAsFarAsWeWroteIt(t *testing.T) {
	owner := Owner{Event: "drain", UID: "u1", Since: epoch}
	for name, tc := range map[string]struct {
		annotations map[string]string
		want        Record
	}{
		"nothing":           {nil, Record{}},
		"something else":    {map[string]string{"slipway.dev/drivers": "d"}, Record{}},
		"no JSON":           {map[string]string{Annotation: "mine"}, Record{}},
		"of another type":   {map[string]string{Annotation: `{"owners":[{"event":"drain","uid":"u1"},{"uid":7}]}`}, Record{}},
		"an owner":          {map[string]string{Annotation: `{"owners":[{"event":"drain","uid":"u1","since":"2026-01-02T03:04:05Z"}]}`}, Record{Owners: []Owner{owner}}},
		"more than we know": {map[string]string{Annotation: `{"owners":[{"event":"drain","uid":"u1","since":"2026-01-02T03:04:05Z","for":"x"}]}`}, Record{Owners: []Owner{owner}}},
		"one before ours": {
			map[string]string{Annotation: `{"owners":[{"event":"drain","uid":"u1","since":"2026-01-02T03:04:05Z"}],"before":{"by":"kubectl"}}`},
			Record{Owners: []Owner{owner}, Before: &Foreign{By: "kubectl"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := On(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: tc.annotations}})
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
