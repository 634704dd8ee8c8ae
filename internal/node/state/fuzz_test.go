// SPDX-License-Identifier: Apache-2.0

package state

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func annotatedNode(key, text string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "one", Annotations: map[string]string{key: text}}}
}

// Whatever somebody writes there: the drivers that are read are written back as the same text,
// so that it is not written again and again.
func FuzzDrivers(f *testing.F) {
	for _, seed := range []string{"", "drain.slm.k8s.io", "a,example.com/reboot", ",", "a,,b", " a, b\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		names, known := Drivers(annotatedNode(DriversAnnotation, text))
		if !known {
			t.Error("somebody has said something, and it is as if nobody had")
		}
		written := strings.Join(names, ",")
		if written != text {
			t.Errorf("%q is written back as %q", text, written)
		}
		again, _ := Drivers(annotatedNode(DriversAnnotation, written))
		if diff := cmp.Diff(names, again); diff != "" {
			t.Errorf("(-before +after):\n%s", diff)
		}
	})
}

// Whatever somebody writes there: the agent remembers the group that it reads now, and does
// not move a second time.
func FuzzHome(f *testing.F) {
	for _, seed := range []string{
		"", "null", "{", `{"group":7}`, `{"group":""}`, `{"group":"lifecycle.k8s.io"}`,
		`{"group":"slm.slipway.dev","since":"2026-01-02T03:04:05Z"}`, `{"group":"x","since":"soon"}`,
	} {
		f.Add(seed)
	}
	now := time.Date(2026, 5, 1, 10, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		const group = "lifecycle.k8s.io"
		memory, _ := movedHome(annotatedNode(HomeAnnotation, text), group, now)
		if memory.Group != group {
			t.Errorf("it remembers %q", memory.Group)
		}
		written, err := json.Marshal(memory)
		if err != nil {
			t.Fatalf("what is remembered cannot be written: %v", err)
		}
		again, changed := movedHome(annotatedNode(HomeAnnotation, string(written)), group, now.Add(time.Hour))
		if changed || !again.Since.Equal(memory.Since) {
			t.Errorf("%s moves again: %+v became %+v", text, memory, again)
		}
	})
}
