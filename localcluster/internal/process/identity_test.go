// SPDX-License-Identifier: Apache-2.0

package process

import (
	"errors"
	"os"
	"testing"
)

func TestParseStatus(t *testing.T) {
	const tail = " S 1 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3"
	cases := map[string]struct {
		line string
		want status
		err  error
	}{
		"an ordinary process":                        {"10 (sleep)" + tail, status{'S', 1, 987654}, nil},
		"a command with spaces and brackets in it":   {"10 (a) Z 5 (b)" + tail, status{'S', 1, 987654}, nil},
		"a process that was not collected":           {"10 (x) Z" + tail[2:], status{'Z', 1, 987654}, nil},
		"a line that was cut off":                    {"10 (sleep) S 1 10", status{}, errMalformedStat},
		"a line of something else":                   {"hello", status{}, errMalformedStat},
		"a process that is ending, thread by thread": {"10 (x) Z 1 10 10 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 7 0 987654 1 2 3", status{'Z', 7, 987654}, nil},
		"a number of threads that is none":           {"10 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 x 1 1 1", status{}, errMalformedStat},
		"a start time that is no number in its row":  {"10 (x) S 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 x 1", status{}, errMalformedStat},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := parseStatus([]byte(tc.line))
			if got != tc.want || !errors.Is(err, tc.err) {
				t.Errorf("got %+v, %v; want %+v, %v", got, err, tc.want, tc.err)
			}
		})
	}
}

func TestOnlyTheVeryProcessIsAlive(t *testing.T) {
	self, err := Observe(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	laterProcess, earlierBoot := self, self
	laterProcess.Started++
	earlierBoot.Boot = "another"
	cases := map[string]struct {
		identity Identity
		want     bool
	}{
		"the process itself":                    {self, true},
		"another that has its id now":           {laterProcess, false},
		"the same numbers before a restart":     {earlierBoot, false},
		"nothing, as in a state never recorded": {Identity{}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.identity.Alive(); got != tc.want {
				t.Errorf("alive: %t, want %t", got, tc.want)
			}
		})
	}
}
