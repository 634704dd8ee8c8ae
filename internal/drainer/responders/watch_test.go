// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"slices"
	"testing"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/types"
)

// A cluster may have thousands of Evictions, each of which changes every few seconds.
func TestADrainIsToldOfWhichPodsSomethingIsNew(t *testing.T) {
	_, reader := newServer(t)
	w := reader.newWatching()
	woken := 0
	changed := func(pods ...types.UID) {
		if len(pods) == 0 || slices.Contains(pods, "cart") {
			woken++
		}
	}
	reader.watches.Join(struct{}{}, &changed, func() (*watching, func()) { return w, func() {} })

	of := func(uid, message string) *evictionv1alpha1.Eviction {
		e := newEviction(uid, 0, inTurn("example.com/backup", "Active", message))
		return e
	}
	other := of("b", "half done")
	other.Spec.Target.Pod.UID = "other"
	noted := of("a", "half done")
	noted.Annotations = map[string]string{"example.com/note": "x"}
	moved := of("a", "done")
	moved.Spec.Target.Pod.UID = "other"
	for _, step := range []struct {
		what string
		do   func() error
		want int
	}{
		{"its pod has an Eviction", func() error { return w.evictions.Add(of("a", "half done")) }, 1},
		{"nothing of it is new", func() error { return w.evictions.Update(of("a", "half done")) }, 0},
		{"what is new of it is nothing to drains", func() error { return w.evictions.Update(noted) }, 0},
		{"it goes on", func() error { return w.evictions.Update(of("a", "done")) }, 1},
		{"another pod has one", func() error { return w.evictions.Add(other) }, 0},
		{"that of another pod is gone", func() error { return w.evictions.Delete(other) }, 0},
		{"it is of another pod now", func() error { return w.evictions.Update(moved) }, 1},
		{"it is of its pod again", func() error { return w.evictions.Update(of("a", "done")) }, 1},
		{"it is gone", func() error { return w.evictions.Delete(of("a", "done")) }, 1},
		{"it is said to be gone once more", func() error { return w.evictions.Delete(of("a", "done")) }, 0},
		{"all are read anew", func() error { return w.evictions.Replace(nil, "2") }, 1},
	} {
		woken = 0
		if err := step.do(); err != nil || woken != step.want {
			t.Errorf("%s: it is woken %d times, want %d; error %v", step.what, woken, step.want, err)
		}
	}
}
