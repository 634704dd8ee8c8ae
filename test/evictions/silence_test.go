// SPDX-License-Identifier: Apache-2.0

package evictions

import (
	"os"
	"testing"
	"time"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/utils/clock"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestARealSilence has a responder say nothing for as long as the API lets it, on the
// server that holds that with its own clock. Only make soak waits for it.
func TestARealSilence(t *testing.T) {
	if os.Getenv("SLIPWAY_SOAK") == "" {
		t.Skip("it takes 20 minutes: make soak runs it")
	}
	harness.Record(t, "a responder that says nothing, for "+evictionrequest.HeartbeatDeadline.String())
	g := newGround(t, place{"built in", true})
	g.control(t, clock.RealClock{})
	s := g.scene(t)
	s.patience = evictionrequest.HeartbeatDeadline + 5*time.Minute
	s.ask("a", s.pod("p", responder(backup, 20000), responder(migrate, 15000)))
	started := s.awaitActive("pod-1-p", backup).Status.Responders[0].StartTime
	e := s.awaitActive("pod-1-p", migrate)
	if got := stateOf(e, backup); got != evictionv1alpha1.ResponderStateInterrupted {
		t.Errorf("%s is %s", backup, got)
	}
	took := e.Status.Responders[1].StartTime.Sub(started.Time)
	t.Logf("its turn was over after %s", took)
	if took < evictionrequest.HeartbeatDeadline || took > evictionrequest.HeartbeatDeadline+time.Minute {
		t.Errorf("its turn was over after %s, want %s", took, evictionrequest.HeartbeatDeadline)
	}
	if err := s.respond("pod-1-p", backup, completed(time.Now())); err == nil {
		t.Error("it could report after its turn")
	}
	s.must(s.respond("pod-1-p", migrate, completed(time.Now())))
	s.awaitActive("pod-1-p", evictionrequest.Evictor)
}
