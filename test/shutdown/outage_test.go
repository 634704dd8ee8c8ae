// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"net/http"
	"testing"
	"time"

	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// Both that have the lock open die while the API server is away, and the machine is shut down before
// it is back. Who begins then holds the machine all the same, and is not killed for being there alone.
func TestAMachineIsHeldByWhoBeginsWithoutTheAPIServer(t *testing.T) {
	t.Parallel()
	g := withHosts(t, harness.Own(t, harness.Options{}))
	m := g.machine(t, "alone", time.Hour)
	pod := m.HeldPod("alone-" + m.Name)
	m.host.Kill()
	health := harness.FreeAddress(t)
	m.startHost("--health-probe-bind-address=" + health)
	m.host.AwaitLog("The caches are filled")
	m.host.Kill()
	m.keep.Kill()
	m.AwaitLocks(0)

	var down <-chan logind.Ending
	g.Outage(t, "kube-apiserver", 0, func() {
		m.startKeeper()
		m.host = m.host.Again()
		m.host.AwaitLog("Took a lock of logind")
		m.host.AwaitLog("The API server does not answer yet")
		if code, text := harness.Get(t, health, "/healthz?verbose"); code != http.StatusOK {
			t.Errorf("a kubelet would kill it: %s", text)
		}
		for _, check := range []string{"/readyz", "/readyz/api-server", "/readyz/caches"} {
			if code, _ := harness.Get(t, health, check); code != http.StatusInternalServerError {
				t.Errorf("%s is answered with %d", check, code)
			}
		}
		if code, text := harness.Get(t, health, "/readyz/lock"); code != http.StatusOK {
			t.Errorf("it holds the machine, and says: %s", text)
		}
		down = m.Shutdown()
	})
	g.Controller(t, "leader", "").AwaitLeading()
	event := m.event()
	pod.AwaitHeld(t, event.Name)
	m.awaitSaid(shutdown.ReasonNodeShutdown)
	stillUp(t, "it has a pod", down)
	pod.LetGo(t)
	if how := m.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	m.bootsAndReturns()
}
