// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"testing"
	"time"
)

func TestBackoffGrowsToItsLimitAndKeepsItsLowerHalf(t *testing.T) {
	cases := map[string]struct {
		failures    int
		least, most time.Duration
	}{
		"first":          {0, 500 * time.Millisecond, time.Second},
		"third":          {2, 2 * time.Second, 4 * time.Second},
		"at the limit":   {5, 15 * time.Second, 30 * time.Second},
		"long after":     {62, 15 * time.Second, 30 * time.Second},
		"past all shift": {1 << 20, 15 * time.Second, 30 * time.Second},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := backoff(tc.failures, retryCap, 0); got != tc.least {
				t.Errorf("least: got %s, want %s", got, tc.least)
			}
			if got := backoff(tc.failures, retryCap, 1); got != tc.most {
				t.Errorf("most: got %s, want %s", got, tc.most)
			}
		})
	}
}

func TestTryAfter(t *testing.T) {
	cases := map[string]struct {
		before    try
		answer    outcome
		notBefore time.Duration // from now; zero: at once
		failures  int
	}{
		"accepted: the watch has a minute to show it":      {try{failures: 3}, accepted, time.Minute, 0},
		"vanished: the watch has a second to show it":      {try{}, vanished, time.Second, 1},
		"refused by a budget: a change of it comes before": {try{}, budgetRefused, time.Minute, 1},
		"refused: back off":                                {try{failures: 1}, refused, 2 * time.Second, 2},
		"refused again and again: up to the limit":         {try{failures: 20}, refused, 30 * time.Second, 21},
		"the namespace ends: its deletion comes before":    {try{}, namespaceEnding, time.Minute, 1},
		"overloaded: not about this pod":                   {try{failures: 2}, overloaded, 0, 2},
		"unavailable: not about this pod":                  {try{failures: 2}, unavailable, 0, 2},
		"not sent: as if nothing had been tried":           {try{}, notSent, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			tc.before.inFlight, tc.before.stamp = true, "1"
			got := tc.before.after(answer{outcome: tc.answer}, noon, 1)
			wait := time.Duration(0)
			if !got.notBefore.IsZero() {
				wait = got.notBefore.Sub(noon)
			}
			if got.inFlight || wait != tc.notBefore || got.failures != tc.failures || got.stamp != "1" {
				t.Errorf("got %+v, want %s and %d failures", got, tc.notBefore, tc.failures)
			}
		})
	}
}

func TestTryHolds(t *testing.T) {
	later := noon.Add(time.Second)
	cases := map[string]struct {
		try  try
		want bool
	}{
		"nothing was tried": {try{}, false},
		"backing off":       {try{outcome: refused, notBefore: later}, true},
		"done backing off":  {try{outcome: refused, notBefore: noon}, false},
		"refused by a budget that has not changed":       {try{outcome: budgetRefused, notBefore: later, stamp: "now"}, true},
		"refused by a budget that has changed":           {try{outcome: budgetRefused, notBefore: later, stamp: "then"}, false},
		"refused by a budget that has not changed long":  {try{outcome: budgetRefused, notBefore: noon, stamp: "now"}, false},
		"backing off although the pod or budget changed": {try{outcome: refused, notBefore: later, stamp: "then"}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.try.holds("now", noon); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
}

func TestBrake(t *testing.T) {
	why := &obstacle{reason: APIServerOverloaded}
	pull := func(b brake, o outcome, retryAfter time.Duration) brake {
		return b.after(answer{outcome: o, refusal: why, retryAfter: retryAfter}, noon, 1)
	}
	t.Run("honours the server's wish", func(t *testing.T) {
		if got := pull(brake{}, overloaded, 20*time.Second).until.Sub(noon); got != 20*time.Second {
			t.Errorf("got %s", got)
		}
	})
	t.Run("grows without a wish", func(t *testing.T) {
		if got := pull(brake{failures: 3}, overloaded, 0).until.Sub(noon); got != 8*time.Second {
			t.Errorf("got %s", got)
		}
	})
	t.Run("stays short during an outage", func(t *testing.T) {
		if got := pull(brake{failures: 30}, unavailable, 0).until.Sub(noon); got != outageCap {
			t.Errorf("got %s", got)
		}
	})
	t.Run("counts those that were on their way together as one", func(t *testing.T) {
		once := pull(brake{}, overloaded, 0)
		all := once
		for range 15 {
			all = pull(all, overloaded, 0)
		}
		if all != once {
			t.Errorf("16 at once give %+v, one gives %+v", all, once)
		}
	})
	t.Run("is not taken off by what was sent before", func(t *testing.T) {
		on := pull(brake{}, overloaded, 20*time.Second)
		if got := pull(on, accepted, 0); got != on {
			t.Errorf("got %+v, want %+v", got, on)
		}
		if got := pull(on, overloaded, 30*time.Second).until.Sub(noon); got != 30*time.Second {
			t.Errorf("a longer wish of the server is not heard: %s", got)
		}
	})
	for _, o := range []outcome{accepted, vanished, budgetRefused, refused, namespaceEnding} {
		if got := pull(brake{failures: 3, until: noon, obstacle: why}, o, 0); got != (brake{}) {
			t.Errorf("outcome %d shows that the server works, but the brake stays: %+v", o, got)
		}
	}
}
