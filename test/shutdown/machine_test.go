// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	"github.com/slipway-k8s/slipway/test/harness"
	"github.com/slipway-k8s/slipway/test/logind"
)

// machine is a simulated node whose machine the test shuts down.
type machine struct {
	*harness.Node
	*logind.StandIn

	t          *testing.T
	g          ground
	dir        string
	boots      int
	agent      *harness.Process
	host, keep *harness.Process
}

// machine starts a machine, whose logind lets itself be delayed for so long, with all that
// runs on it. It returns when logind has a lock.
func (g ground) machine(t *testing.T, group string, delay time.Duration) *machine {
	t.Helper()
	m := &machine{Node: g.Node(t, group), StandIn: logind.Start(t, delay), t: t, g: g}
	var err error
	if m.dir, err = os.MkdirTemp("", "mc"); err != nil { // short: it holds a socket
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(m.dir) })
	m.boot()
	m.startAgent()
	m.startKeeper()
	m.startHost()
	m.AwaitLocks(1)
	m.host.AwaitLog("Took a lock of logind")
	m.Await("says how long its machine waits", func(n *corev1.Node) bool {
		said, known := shutdown.DelayOn(n)
		return known && said == delay
	})
	return m
}

func (m *machine) path(name string) string { return filepath.Join(m.dir, name) }

// boot gives the machine a new boot ID, and has the Node say so, as its kubelet would.
func (m *machine) boot() {
	m.t.Helper()
	m.boots++
	id := fmt.Sprintf("%s-boot-%d", m.Name, m.boots)
	if err := os.WriteFile(m.path("boot_id"), []byte(id+"\n"), 0o600); err != nil {
		m.t.Fatal(err)
	}
	node := &corev1.Node{}
	node.Name = m.Name
	patch := fmt.Appendf(nil, `{"status":{"nodeInfo":{"bootID":%q}}}`, id)
	if err := m.g.Client.Status().Patch(m.t.Context(), node, client.RawPatch(types.MergePatchType, patch)); err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) startAgent() { m.agent = m.Agent("") }

func (m *machine) startKeeper() {
	m.t.Helper()
	m.keep = harness.StartProcess(m.t, "keeper of "+m.Name, nil, harness.Binary(m.t, "slipway-host"), "keep", "--keeper="+m.path("keeper"))
}

func (m *machine) startHost(flags ...string) {
	m.t.Helper()
	m.host = m.Host(m.Socket, append(flags, "--keeper="+m.path("keeper"), "--boot-id-file="+m.path("boot_id"))...)
}

// powerOff ends all that runs on the machine, and restart is its next boot.
func (m *machine) powerOff() {
	for _, p := range []*harness.Process{m.host, m.keep, m.agent} {
		p.Kill()
	}
}

func (m *machine) restart() {
	m.t.Helper()
	m.CallOff()
	m.boot()
	m.startAgent()
	m.startKeeper()
	m.startHost()
	m.AwaitLocks(1)
}

// bootsAndReturns is all that comes after a machine that was drained has gone down.
func (m *machine) bootsAndReturns() *corev1.Node {
	m.t.Helper()
	m.powerOff()
	m.restart()
	m.awaitSaid(shutdown.ReasonFinished)
	return m.awaitReturned()
}

// event waits for that of the shutdown.
func (m *machine) event() *lifecyclev1alpha1.LifecycleEvent {
	m.t.Helper()
	return harness.Await(m.t, m.g.Env, "there is an event for the shutdown of "+m.Name, &lifecyclev1alpha1.LifecycleEventList{},
		func(e *lifecyclev1alpha1.LifecycleEvent) bool {
			return e.Spec.BindingNode == m.Name && e.Spec.TransitionName == shutdown.Transition
		})
}

// announced is when the shutdown that the Node says goes on was seen first.
func (m *machine) announced() (since time.Time) {
	m.t.Helper()
	m.Await("says that a shutdown goes on", func(n *corev1.Node) bool {
		a := shutdown.AnnouncedOn(n)
		if a != nil {
			since = a.Since
		}
		return a != nil
	})
	return since
}

// awaitSaid waits until the Node's condition about shutdowns has that reason.
func (m *machine) awaitSaid(reason string) *corev1.Node {
	m.t.Helper()
	return m.Await("says "+reason, func(n *corev1.Node) bool {
		c := conditionOf(n, corev1.NodeGracefulNodeShutdownInProgress)
		return c != nil && c.Reason == reason
	})
}

// awaitReturned waits until nothing of the shutdown is left on the Node.
func (m *machine) awaitReturned() *corev1.Node {
	m.t.Helper()
	return m.Await("is back", func(n *corev1.Node) bool {
		return shutdown.AnnouncedOn(n) == nil && shutdown.DrainedOn(n) == nil && !n.Spec.Unschedulable
	})
}

func conditionOf(n *corev1.Node, kind corev1.NodeConditionType) *corev1.NodeCondition {
	for i := range n.Status.Conditions {
		if n.Status.Conditions[i].Type == kind {
			return &n.Status.Conditions[i]
		}
	}
	return nil
}
