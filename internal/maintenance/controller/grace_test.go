// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

func TestWhatIsNotKnownIsWaitedForOnce(t *testing.T) {
	end := time.Unix(2000, 0)
	for name, tc := range map[string]struct {
		known bool
		at    time.Time
		until time.Time
	}{
		"not known yet":                {at: end.Add(-time.Second), until: end},
		"not known when it is over":    {at: end},
		"known in time":                {known: true, at: end.Add(-time.Second)},
		"known when it is looked late": {known: true, at: end.Add(time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWatch(watchstore.Source{}, readUnready, func() func() { return func() {} })
			w.store, w.until = w.newStore(), end
			if tc.known {
				if err := w.store.Replace(nil, "1"); err != nil {
					t.Fatal(err)
				}
			}
			if until := w.wait(t.Context(), "pods", tc.at); !until.Equal(tc.until) {
				t.Errorf("it is waited for until %s", until)
			}
			if tc.until.IsZero() && !w.until.IsZero() {
				t.Errorf("it is waited for again until %s", w.until)
			}
		})
	}
}
