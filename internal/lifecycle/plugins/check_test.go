// SPDX-License-Identifier: Apache-2.0

package plugins

import (
	"path/filepath"
	"testing"
	"time"
)

func TestCheck(t *testing.T) {
	t.Run("a driver that answers is ready, each time", func(t *testing.T) {
		h := run(t, nil)
		newStranger("d", "").serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.awaitReady(t, "d", time.Now())
		h.awaitReady(t, "d", time.Now())
	})

	t.Run("a driver that is not registered", func(t *testing.T) {
		h := run(t, nil)
		h.Check("d", h.notice)
		if got := h.Driver("d"); !got.ReadyAt.IsZero() {
			t.Errorf("state is %+v", got)
		}
	})

	t.Run("a driver that has frozen is never ready", func(t *testing.T) {
		h := run(t, nil, func(r *Registry) { r.checkLimit = 200 * time.Millisecond })
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		listenAt(t, endpoint) // no process accepts
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.Check("d", h.notice)
		got := h.await(t, "d", "given up", func(State) bool { return !isChecked(h, "d") })
		if !got.ReadyAt.IsZero() {
			t.Errorf("state is %+v", got)
		}
	})

	t.Run("a driver whose endpoint appears later becomes ready", func(t *testing.T) {
		h := run(t, nil)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.Check("d", h.notice)
		newStranger("d", "").serve(t, endpoint)
		h.await(t, "d", "ready", func(s State) bool { return !s.ReadyAt.IsZero() })
	})

	t.Run("a driver that wakes up becomes ready", func(t *testing.T) {
		h := run(t, nil)
		endpoint := filepath.Join(tempDir(t), "slm.sock")
		frozen := listenAt(t, endpoint)
		newStranger("d", endpoint).serve(t, filepath.Join(h.dir, "d-reg.sock"))
		h.awaitRegistered(t, "d")
		h.Check("d", h.notice)
		newStranger("d", "").serveOn(t, frozen)
		h.await(t, "d", "ready", func(s State) bool { return !s.ReadyAt.IsZero() })
	})

	t.Run("the result of one instance does not hold for the next", func(t *testing.T) {
		h := run(t, nil)
		newStranger("d", "").serve(t, filepath.Join(h.dir, "d-1-reg.sock"))
		h.awaitRegistered(t, "d")
		h.awaitReady(t, "d", time.Now())
		second := filepath.Join(h.dir, "d-2-reg.sock")
		newStranger("d", "/nowhere").serve(t, second)
		h.awaitEndpoint(t, "d", "/nowhere")
		if got := h.Driver("d"); !got.ReadyAt.IsZero() {
			t.Errorf("state is %+v", got)
		}
		since := time.Now()
		h.Check("d", h.notice)
		remove(t, second)
		h.awaitReady(t, "d", since) // the agent checks the older one
	})
}

func isChecked(h *house, name string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.newest(name).stopCheck != nil
}

// eventually waits for a change that OnChange does not report.
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
