// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"testing"

	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestASurgeOutlivesKillDashNine kills the controller after each of its writes, and starts
// another. What comes about is what would have without that.
func TestASurgeOutlivesKillDashNine(t *testing.T) {
	g := newGround(t, true)
	start := func(t *testing.T, faultPoint string) *harness.Process {
		return g.env.Controller(t, "with surge", faultPoint, "--eviction-requests", "--leader-elect=false")
	}
	for _, point := range []string{
		faultpoint.EvictionCreated, faultpoint.EvictionWritten, faultpoint.SurgeReleased, faultpoint.SurgeReplaced,
	} {
		t.Run(point+", and the pod moves", func(t *testing.T) {
			s := g.scene(t)
			node := s.node("a")
			d := s.deploy(1, startUp, 1)
			old := s.pods.now()[0]
			s.node("b")
			s.cordon(node)
			killed := start(t, point)
			s.ask(old)
			killed.AwaitFaultPoint(point)
			killed.Kill()
			last := start(t, "")
			s.pods.awaitGone(old)
			s.pods.awaitKept(1)
			s.neverFewerThan(1)
			s.untouched(d)
			last.Stop()
		})
	}
	for _, point := range []string{faultpoint.SurgeGivenBack, faultpoint.SurgeForgotten} {
		t.Run(point+", and the pod stays", func(t *testing.T) {
			s := g.scene(t)
			killed := start(t, point)
			d, old := s.stuck()
			s.withdraw(old)
			killed.AwaitFaultPoint(point)
			killed.Kill()
			last := start(t, "")
			s.givenBack(old)
			s.untouched(d)
			last.Stop()
		})
	}
	t.Run("cancelled while nobody was there", func(t *testing.T) {
		s := g.scene(t)
		killed := start(t, "")
		_, old := s.stuck()
		killed.Kill()
		s.withdraw(old)
		last := start(t, "")
		s.givenBack(old)
		last.Stop()
	})
	t.Run("and surge is off from then on", func(t *testing.T) {
		s := g.scene(t)
		killed := start(t, "")
		_, old := s.stuck()
		killed.Kill()
		s.withdraw(old)
		last := g.env.Controller(t, "without surge", "", "--eviction-requests", "--surge=off", "--leader-elect=false")
		s.givenBack(old)
		last.Stop()
	})
}
