// SPDX-License-Identifier: Apache-2.0

package drains

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPodsAreWhatTheTitlesSay(t *testing.T) {
	perNode := map[string]int{"a": 100, "b": 20, "c": 20, "d": 100, "e": 30, "f": 1, "g": 20, "h": 20, "i": 30, "j": 30, "k": 30}
	for _, s := range All() {
		if got := s.PodsPerNode(); got != perNode[s.Key] {
			t.Errorf("scenario %s has %d pods on a node; want %d", s.Key, got, perNode[s.Key])
		}
		if s.AppCount*s.Replicas%s.Nodes != 0 || s.Replicas%s.Nodes != 0 {
			t.Errorf("scenario %s: the pods of an app cannot be spread evenly", s.Key)
		}
	}
}

func TestAppsDependOnSeedScenarioAndRepetitionOnly(t *testing.T) {
	selected, err := Select([]string{"c", "e"})
	if err != nil {
		t.Fatal(err)
	}
	c, e := selected[0], selected[1]
	if diff := cmp.Diff(c.Apps(1, 1), c.Apps(1, 1)); diff != "" {
		t.Errorf("the same seed gave others (-first +second):\n%s", diff)
	}
	if cmp.Equal(c.Apps(1, 1), c.Apps(2, 1)) || cmp.Equal(c.Apps(1, 1), c.Apps(1, 2)) {
		t.Error("another seed, or repetition, gave the same delays")
	}
	for _, s := range []Scenario{c, e} {
		for _, app := range s.Apps(7, 3) {
			if app.Ready < s.Ready.Min || app.Ready > s.Ready.Max || app.Gone < s.Gone.Min || app.Gone > s.Gone.Max {
				t.Errorf("scenario %s: %+v is outside of %v and %v", s.Key, app, s.Ready, s.Gone)
			}
		}
	}
}

func TestSelectRefusesWhatIsNotThere(t *testing.T) {
	if _, err := Select([]string{"a", "z"}); err == nil {
		t.Error("scenario z was found")
	}
}
