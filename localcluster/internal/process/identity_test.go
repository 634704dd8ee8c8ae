// SPDX-License-Identifier: Apache-2.0

package process

import (
	"os"
	"testing"
)

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
