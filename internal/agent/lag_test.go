// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/transition"
)

func TestLag(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	later := began.Add(time.Second)
	before, after := shown("7", "1"), shown("8", "1")
	var l lag

	expect := func(what string, cached transition.Facts, want time.Time) {
		t.Helper()
		if got := l.of(cached); !got.Equal(want) {
			t.Errorf("%s: behind since %v; want %v", what, got, want)
		}
	}
	expect("nothing was written", before, time.Time{})
	l.wrote(before, began)
	expect("what was written does not show", before, began)
	l.wrote(before, later)
	expect("nor does what was written after it", before, began)
	expect("it shows", after, time.Time{})
	expect("it has shown once", before, time.Time{})
	l.wrote(after, later)
	expect("a later one does not show", after, later)
	expect("the Node shows it", shown("8", "2"), time.Time{})
	l.wrote(after, later)
	expect("the event has gone", transition.Facts{Node: after.Node}, time.Time{})
}

// shown are facts with an event and a Node in the given versions.
func shown(event, node string) transition.Facts {
	return transition.Facts{
		Events: []*lifecyclev1alpha1.LifecycleEvent{{ObjectMeta: metav1.ObjectMeta{UID: "e", ResourceVersion: event}}},
		Node:   &corev1.Node{ObjectMeta: metav1.ObjectMeta{UID: "n", ResourceVersion: node}},
	}
}
