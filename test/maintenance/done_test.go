// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// saysDone runs kubectl slipway done as somebody, wants it to end with the code and to say
// the texts.
func (c *scene) saysDone(who, node string, code int, texts ...string) {
	c.t.Helper()
	c.runsDone([]string{node, "--as=" + who}, code, texts)
}

// accepts runs it to accept a node that is not healthy.
func (c *scene) accepts(who, node string, code int, texts ...string) {
	c.t.Helper()
	c.runsDone([]string{node, "--as=" + who, "--accept-unhealthy"}, code, texts)
}

func (c *scene) runsDone(args []string, code int, texts []string) {
	c.t.Helper()
	command := exec.CommandContext(c.t.Context(), harness.Binary(c.t, "kubectl-slipway"), append([]string{"done"}, args...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.env.Facts.Kubeconfig)
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		c.t.Fatal(err)
	}
	if got := command.ProcessState.ExitCode(); got != code {
		c.t.Errorf("done %v: exit code %d, want %d", args, got, code)
	}
	for _, text := range texts {
		if !strings.Contains(string(out), text) {
			c.t.Errorf("done %v does not say %q, but\n%s", args, text, out)
		}
	}
}

const (
	operator = "test-operator"
	viewer   = "test-viewer"
)

// people binds the roles that these have until the test ends.
func people(t *testing.T, env *harness.Env) {
	t.Helper()
	for role, who := range map[string]string{"slipway-operator": operator, "slipway-viewer": viewer} {
		b := binds(role, who)
		b.Name = who
		if err := env.Client.Create(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { env.DeleteQuietly(b) })
	}
}

// doneByCommand: who may change events says it, by their name, and nobody else; whoever says
// it again is told.
func doneByCommand(c *scene) {
	node := c.nodes[0]
	m := c.maintain(somebody, hook("test", slipwayv1alpha1.BeforeReturn))
	m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.saysDone("nobody", node, 1, `"nobody" cannot list resource "lifecycletransitions"`)
	c.saysDone(viewer, node, 1, `annotate LifecycleEvent `+drainOf(node), `"`+viewer+`" cannot patch resource "lifecycleevents"`)
	c.saysDone(operator, node, 0, "node/"+node+": the work is done\n")
	c.awaitHook(m, "test")
	c.saysDone(operator, node, 0, "node/"+node+": the work is done already, by "+operator+"\n")
	if n := c.awaitNode(node, "is there", func(*corev1.Node) bool { return true }); !n.Spec.Unschedulable {
		c.t.Error("the node has returned while a hook holds it")
	}
	c.open(node, "test")
	m.AwaitCompleted()
	c.awaitBack(node)
	c.saysDone(operator, node, 1, "no maintenance waits for work on node "+node)
	m.Delete()
}

// notDoneYet: before the work can have begun, nobody has done it.
func notDoneYet(c *scene) {
	node := c.nodes[0]
	c.saysDone(operator, node, 1, "no maintenance waits for work on node "+node)
	c.held(node)
	m := c.maintain(somebody, hook("ask", slipwayv1alpha1.BeforeDrain), hook("check", slipwayv1alpha1.AfterDrain))
	c.awaitHook(m, "ask")
	c.saysDone(operator, node, 1, "the node is held", "NodeMaintenance "+m.Name)
	c.open(node, "ask")
	m.AwaitNode(node, slipwayv1alpha1.NodeDraining, slipwayv1alpha1.ReasonBlocked)
	c.saysDone(operator, node, 1, "the node is draining")
	c.letGo()
	c.awaitHook(m, "check")
	c.saysDone(operator, node, 1, "the node is held", "AfterDrain: waiting for hook check")
	c.open(node, "check")
	m.AwaitNode(node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
	c.saysDone(operator, node, 0, "node/"+node+": the work is done\n")
	m.AwaitCompleted()
	c.awaitBack(node)
	m.Delete()
}
