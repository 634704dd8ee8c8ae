// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

func TestAPauseEndsWithAChangeButNotAtOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		after time.Duration // when something changes; 0: before it begins, -1: never
		want  time.Duration
	}{
		"nothing changes":         {after: -1, want: time.Second},
		"it has changed already":  {want: 100 * time.Millisecond},
		"it changes in a moment":  {after: 50 * time.Millisecond, want: 100 * time.Millisecond},
		"it changes after a time": {after: 300 * time.Millisecond, want: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bubble clock.RealClock
				changed := make(chan struct{}, 1)
				change := func() { changed <- struct{}{} }
				began := bubble.Now()
				switch {
				case tc.after == 0:
					change()
				case tc.after > 0:
					bubble.AfterFunc(tc.after, change)
				}
				if err := Pause(t.Context(), bubble, changed); err != nil {
					t.Fatal(err)
				}
				if got := bubble.Since(began); got != tc.want {
					t.Errorf("it took %s; want %s", got, tc.want)
				}
			})
		})
	}
}

func TestAPauseEndsWithItsContext(t *testing.T) {
	for name, after := range map[string]time.Duration{"at once": 0, "later": 500 * time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var bubble clock.RealClock
				began := bubble.Now()
				ctx, stop := context.WithTimeout(t.Context(), after)
				defer stop()
				if err := Pause(ctx, bubble, make(chan struct{})); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got error %v", err)
				}
				if got := bubble.Since(began); got != after {
					t.Errorf("it took %s", got)
				}
			})
		})
	}
}
