// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func at(uid types.UID, version string) *evictionv1alpha1.EvictionRequest {
	return &evictionv1alpha1.EvictionRequest{ObjectMeta: metav1.ObjectMeta{UID: uid, ResourceVersion: version}}
}

func TestWhatWasWrittenCountsUntilTheWatchHasShownIt(t *testing.T) {
	type requests = []*evictionv1alpha1.EvictionRequest
	for name, tc := range map[string]struct {
		written *evictionv1alpha1.EvictionRequest
		shown   string
		seen    requests
		want    []string
		kept    int
	}{
		"nothing is shown yet":                {at("r", "5"), "4", nil, []string{"5"}, 1},
		"an older one is shown":               {at("r", "5"), "4", requests{at("r", "4")}, []string{"5"}, 1},
		"it is shown":                         {at("r", "5"), "5", requests{at("r", "5")}, []string{"5"}, 0},
		"a newer one is shown":                {at("r", "5"), "6", requests{at("r", "6")}, []string{"6"}, 0},
		"it is shown while the watch is read": {at("r", "5"), "4", requests{at("r", "5")}, []string{"5"}, 0},
		// It was deleted, and the watch has told of that, before it could be kept.
		"it is gone":                                {at("r", "5"), "6", nil, nil, 0},
		"it is gone, and another one is there":      {at("r", "5"), "7", requests{at("s", "7")}, []string{"7"}, 0},
		"of the watch, nobody knows how far it is":  {at("r", "5"), "", nil, []string{"5"}, 1},
		"what is written and what is shown, differ": {at("r", "5"), "4", requests{at("s", "3")}, []string{"3", "5"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			m.keep(tc.written)
			m.keep(&evictionv1alpha1.Eviction{ObjectMeta: metav1.ObjectMeta{UID: "e", ResourceVersion: "1"}}) // of another watch
			var got []string
			for _, r := range newest(m, tc.shown, tc.seen, func(*evictionv1alpha1.EvictionRequest) bool { return true }) {
				got = append(got, r.ResourceVersion)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("what counts (-want +got):\n%s", diff)
			}
			if kept := len(m.objects) - 1; kept != tc.kept {
				t.Errorf("%d are kept, want %d", kept, tc.kept)
			}
		})
	}
}
