// SPDX-License-Identifier: Apache-2.0

package staticpod

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"
)

// TestWhateverHappens: each manifest that somebody has written is in one place, as it was
// written; none is taken that nobody asked for, and none of the control plane; and when nothing
// is wished any more, all that nobody has replaced is back.
func TestWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		written, serial := map[string]bool{}, 0
		pods := []string{"default/a-w1", "default/b-w1", "kube-system/etcd-w1 control-plane", "nonsense"}
		files := rapid.SampledFrom([]string{"a.yaml", "b.yaml", "c.yaml"})
		step := func() {
			if s := Next(w.facts()); s != nil {
				checkTake(t, w, s)
				w.apply(s)
			}
		}
		actions := []func(){
			step, step, step, step, step, step,
			func() { // somebody writes a file, in place of one that is there or not
				file := files.Draw(t, "file")
				delete(written, w.watched[file])
				serial++
				w.watched[file] = fmt.Sprintf("%s %d", rapid.SampledFrom(pods).Draw(t, "pod"), serial)
				written[w.watched[file]] = true
			},
			func() { // somebody puts one back by hand, if they can
				file := files.Draw(t, "file")
				if w.away[file] != "" && w.watched[file] == "" {
					move(w.away, w.watched, file)
				}
			},
			func() {
				w.wish(rapid.SampledFrom([]string{"drain-1", "drain-2"}).Draw(t, "event"),
					rapid.SampledFrom([]string{"default/a-w1", "default/b-w1", "kube-system/etcd-w1"}).Draw(t, "pod"))
			},
			func() { w.withdraw(rapid.SampledFrom([]string{"drain-1", "drain-2"}).Draw(t, "event")) },
			func() { w.node = nil },
			func() { w.node = &corev1.Node{} },
			func() { w.full = !w.full },
			func() { clear(w.failed) },
			func() { w.journal = w.journal[:rapid.IntRange(0, len(w.journal)).Draw(t, "bytes")] },
		}
		for range rapid.IntRange(1, 80).Draw(t, "length") {
			rapid.SampledFrom(actions).Draw(t, "action")()
			checkKept(t, w, written)
		}
		checkBack(t, w, written)
	})
}

func checkTake(t *rapid.T, w *world, s Step) {
	take, takes := s.(Take)
	if !takes {
		return
	}
	wanted := Wanted(w.wishes)
	if w.node == nil {
		var j Journal
		if err := json.Unmarshal([]byte(w.journal), &j); err != nil {
			t.Fatalf("%s is taken, and nobody knows what is wished", take.File)
		}
		wanted = j.Wanted
	}
	content := w.watched[take.File]
	if !slices.Contains(wanted, strings.Fields(content)[0]) || strings.Contains(content, "control-plane") {
		t.Fatalf("%s is taken, with content %q; wished are %q", take.File, content, wanted)
	}
}

func checkKept(t *rapid.T, w *world, written map[string]bool) {
	there := slices.Concat(slices.Collect(maps.Values(w.watched)), slices.Collect(maps.Values(w.away)))
	slices.Sort(there)
	if want := slices.Sorted(maps.Keys(written)); !slices.Equal(there, want) {
		t.Fatalf("there are %q, and %q were written", there, want)
	}
}

func checkBack(t *rapid.T, w *world, written map[string]bool) {
	w.node, w.wishes, w.full = &corev1.Node{}, nil, false
	settle(w, 100)
	if s := Next(w.facts()); s != nil {
		t.Fatalf("it does not come to an end: %+v", s)
	}
	checkKept(t, w, written)
	for file, content := range w.away {
		pod := strings.Fields(content)[0]
		replaced := w.watched[file] != ""
		for _, other := range w.watched {
			replaced = replaced || strings.Fields(other)[0] == pod && pod != "nonsense"
		}
		if !replaced {
			t.Fatalf("%s is not back, and nobody has put another one in its place: %v, %v, said %s", file, w.watched, w.away, w.said)
		}
	}
}
