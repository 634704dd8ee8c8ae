// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

func TestLag(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := began.Add(time.Second)
	before, after := shown("7", "1"), shown("8", "1")
	l := lag{}

	expect := func(what string, cached transition.Facts, want time.Time) {
		t.Helper()
		if got := l.behindSince(cached); !got.Equal(want) {
			t.Errorf("%s: behind since %v; want %v", what, got, want)
		}
	}
	expect("nothing was written", before, time.Time{})
	l.wrote("e", "", before, began)
	expect("what was written does not show", before, began)
	l.wrote("e", "", before, later)
	expect("nor does what was written after it", before, began)
	expect("it shows", after, time.Time{})
	expect("it has shown once", before, time.Time{})

	l.wrote("e", "", after, began)
	l.wrote("n", "", after, later)
	expect("neither the event nor the Node shows it", after, began)
	expect("the Node shows it, and the event does not", shown("8", "2"), began)
	expect("the event has gone", transition.Facts{Node: shown("8", "2").Node}, time.Time{})

	l.wrote("e", "", after, began)
	l.wrote("n", "", after, later)
	expect("the event shows it, and the Node does not", shown("9", "1"), later)
	l.compare(shown("9", "1"), shown("9", "1"), later)
	expect("the server has nothing else: the write has changed nothing", shown("9", "1"), time.Time{})
	l.compare(shown("9", "1"), shown("9", "3"), later)
	expect("the server has a Node that the caches have not", shown("9", "1"), later)
	expect("they have it", shown("9", "3"), time.Time{})

	l.compare(shown("9", "3"), transition.Facts{Node: shown("9", "3").Node}, began)
	expect("the caches have an event that is gone", shown("9", "3"), began)
	l.wrote("late", "", shown("9", "3"), began)
	l.compare(transition.Facts{}, transition.Facts{}, began)
	expect("it was gone before they had it", transition.Facts{}, time.Time{})
}

// Others write to a Node in the same moment: the kubelet its heartbeat, the driver its cordon.
func TestLagOfWhatOthersWriteToo(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		written, shows string
		behind         bool
	}{
		"what somebody wrote before it":  {written: "9", shows: "8", behind: true},
		"what was written":               {written: "9", shows: "9"},
		"what somebody wrote after it":   {written: "9", shows: "10"},
		"a write that changed nothing":   {written: "7", shows: "7"},
		"a change by whom nobody knows":  {shows: "8"},
		"no change, and none was named":  {shows: "7", behind: true},
		"a version that is no number":    {written: "9", shows: "x"},
		"a version that was no number":   {written: "x", shows: "8"},
		"more digits are a later number": {written: "10", shows: "9", behind: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := lag{}
			l.wrote("n", tc.written, shown("1", "7"), began)
			if got := !l.behindSince(shown("1", tc.shows)).IsZero(); got != tc.behind {
				t.Errorf("caches that show %s after %q was written are behind: %t; want %t", tc.shows, tc.written, got, tc.behind)
			}
		})
	}
}

func TestLagRemembersWhatWasWrittenFirst(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	l := lag{}
	l.wrote("n", "9", shown("1", "7"), began)
	l.wrote("n", "", shown("1", "7"), began.Add(time.Second)) // refused
	if got := l.behindSince(shown("1", "8")); !got.Equal(began) {
		t.Errorf("behind since %v; want %v: the first write does not show", got, began)
	}
	if got := l.behindSince(shown("1", "9")); !got.IsZero() {
		t.Errorf("behind since %v; want not at all: it shows", got)
	}
}

// shown are facts with an event and a Node in the given versions.
func shown(event, node string) transition.Facts {
	return transition.Facts{
		Events: []*lifecyclev1alpha1.LifecycleEvent{{ObjectMeta: metav1.ObjectMeta{UID: "e", ResourceVersion: event}}},
		Node:   &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "n", ResourceVersion: node}},
	}
}
