// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	t.Run("a driver that answers is ready, for the key that was asked for", func(t *testing.T) {
		h := run(t, nil)
		newStranger("d", "").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.awaitReady(t, "d", "event 1")
		h.awaitReady(t, "d", "event 2")
	})

	t.Run("a driver that is not registered", func(t *testing.T) {
		h := run(t, nil)
		h.Check("d", "event")
		if got := h.Driver("d"); got.ReadyFor != "" {
			t.Errorf("state is %+v", got)
		}
	})

	t.Run("a driver that has frozen is never ready", func(t *testing.T) {
		clock := newAlarmClock()
		h := run(t, clock)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		listenAt(t, endpoint) // nobody accepts
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		clock.awaitCalls(t)
		h.Check("d", "event")
		eventually(t, "the reason is known", func() bool { return strings.Contains(h.Driver("d").NotReady, "does not answer") })
		clock.ring(clock.delays, checkLimit)
		got := h.await(t, "d", "given up", func(State) bool { return checkOf(h, "d") == nil })
		if got.ReadyFor != "" || !strings.Contains(got.NotReady, "does not answer") {
			t.Errorf("state is %+v", got)
		}
	})

	t.Run("a driver whose endpoint is not there says so while it is being checked", func(t *testing.T) {
		h := run(t, nil)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.Check("d", "event")
		eventually(t, "the reason is known", func() bool { return strings.Contains(h.Driver("d").NotReady, "no such file") })

		newStranger("d", "").serve(t, endpoint)
		h.awaitReady(t, "d", "event") // it is tried again
	})

	t.Run("a driver that wakes up becomes ready", func(t *testing.T) {
		h := run(t, nil)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		frozen := listenAt(t, endpoint)
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.Check("d", "event")
		eventually(t, "the reason is known", func() bool { return strings.Contains(h.Driver("d").NotReady, "does not answer") })
		newStranger("d", "").serveOn(t, frozen)
		h.awaitReady(t, "d", "event")
	})

	t.Run("the same key is not checked twice at a time", func(t *testing.T) {
		h := run(t, nil)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		listenAt(t, endpoint)
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.Check("d", "event")
		first := checkOf(h, "d")
		h.Check("d", "event")
		if checkOf(h, "d") != first {
			t.Error("there is another check")
		}
		h.Check("d", "other event")
		if checkOf(h, "d") == first {
			t.Error("the check for the other key did not take its place")
		}
	})

	t.Run("what was found of one instance does not hold for the next", func(t *testing.T) {
		h := run(t, nil)
		newStranger("d", "").serve(t, filepath.Join(h.dir, "d-1-reg.sock"))
		h.awaitRegistered(t, "d")
		h.awaitReady(t, "d", "event")
		second := filepath.Join(h.dir, "d-2-reg.sock")
		newStranger("d", "/nowhere").serve(t, second)
		h.awaitEndpoint(t, "d", "/nowhere")
		if got := h.Driver("d"); got.ReadyFor != "" {
			t.Errorf("state is %+v", got)
		}
		h.Check("d", "event")
		remove(t, second) // the check goes on with the older one
		h.await(t, "d", "ready", func(s State) bool { return s.ReadyFor == "event" })
	})
}

func checkOf(h *house, name string) *check {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.drivers[name].check
}

// eventually waits for what OnChange does not tell of.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ticker := time.NewTicker(2 * time.Millisecond)
	defer ticker.Stop()
	late := time.NewTimer(patience)
	defer late.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-late.C:
			t.Fatalf("still not: %s", what)
		}
	}
}
