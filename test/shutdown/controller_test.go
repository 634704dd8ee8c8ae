// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// The controller is killed after each thing that it does for a shutdown: who leads after it finds
// that done, and asks for no second drain. It is not needed while the node is drained, nor when the
// machine is let go. This test is alone: it has each controller lead at once.
func TestAControllerThatIsKilledDuringAShutdown(t *testing.T) {
	g := withHosts(t, harness.Shared(t))
	m := g.machine(t, "controller", time.Hour)
	pod := m.HeldPod("controller-" + m.Name)
	lead := func(point string) *harness.Process {
		t.Helper()
		// As if that of who was killed had expired.
		g.Kubectl(t, "--namespace="+devcluster.Namespace, "delete", "lease", "slipway-controller", "--ignore-not-found")
		c := g.Controller(t, "until "+point, point)
		c.AwaitLeading()
		return c
	}

	first := lead(faultpoint.ShutdownEventCreated)
	down := m.Shutdown()
	first.AwaitFaultPoint(faultpoint.ShutdownEventCreated)
	first.Kill()
	event := m.event()
	pod.AwaitHeld(t, event.Name)

	second := lead(faultpoint.ShutdownDrainNoted)
	pod.LetGo(t)
	second.AwaitFaultPoint(faultpoint.ShutdownDrainNoted)
	second.Kill()
	if how := m.AwaitDown(down); how != logind.Released {
		t.Errorf("the machine went down: %s", how)
	}
	n := m.Await("says what became of the drain", func(n *corev1.Node) bool { return shutdown.DrainedOn(n) != nil })
	if d := shutdown.DrainedOn(n); d.Event != event.Name || d.UID != event.UID || d.Outcome != lifecyclev1alpha1.Succeeded {
		t.Errorf("it says %+v", d)
	}

	m.powerOff()
	m.restart()
	third := lead(faultpoint.ShutdownReleased)
	third.AwaitFaultPoint(faultpoint.ShutdownReleased)
	third.Kill()
	g.AwaitEventGone(t, event.Name)

	lead("")
	m.awaitSaid(shutdown.ReasonFinished)
	m.awaitReturned()
	asked := g.Requests(t, func(r auditlog.Request) bool {
		return r.Verb == "create" && r.Resource == "lifecycleevents" && r.Name == event.Name && r.Code < 300
	})
	if len(asked) != 1 {
		t.Errorf("its drain was asked for %d times: %v", len(asked), asked)
	}
}
