// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"os"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/test/harness"
)

// The DaemonSet of deploy/ beside agents without a driver of their own: the two find each
// other over sockets on the host, and the account of deploy/ may do what a drain takes.
func TestTheDrainDriverDrainsFromPodsOfItsOwn(t *testing.T) {
	s := emptyScene(t)
	// Short, because unix sockets are in it. No other test has it.
	host, err := os.MkdirTemp("", "slw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(host) })
	agents := daemonSetsIn(harness.Rendered(t, harness.Renderer(t), `{"drain": {"builtIn": false}}`))[0]
	text, err := os.ReadFile(harness.File(t, "deploy", "daemonset.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	driver := daemonSetsIn("\n---\n" + string(text))[0]
	for _, set := range []*appsv1.DaemonSet{agents, driver} {
		set.Spec.Template.Spec.Volumes[0].HostPath.Path = host
	}
	onAnotherPort(&driver.Spec.Template.Spec.Containers[0])
	s.env.Kubectl(t, "apply", "--server-side", "-f", harness.File(t, "deploy", "rbac.yaml"))
	s.start(agents, agentImage)
	s.start(driver, driverImage)
	s.node.Await("the driver is registered", func(n *corev1.Node) bool {
		return n.Annotations["slipway.dev/drivers"] == "drain.slm.k8s.io"
	})

	slow := s.deploy("apart", s.workload("apart", 30, "-ends-in=1s"))
	out := s.run(0, "drain", nodeName, "--reason=new firmware")
	if !strings.Contains(out, "drain-complete") {
		t.Errorf("the drain says\n%s", out)
	}
	s.wantStory(slow, "started", "asked to end", "ended")
	for _, id := range containers(slow) {
		if slices.Contains(s.running(), id) {
			t.Errorf("container %s of pod %s runs", id, slow.Name)
		}
	}
	s.run(0, "uncordon", nodeName)
	s.node.Await("takes pods again", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
}

// onAnotherPort moves the health of a container: in the node's network, the agent has 8081.
func onAnotherPort(c *corev1.Container) {
	for i, arg := range c.Args {
		c.Args[i] = strings.ReplaceAll(arg, ":8081", ":8082")
	}
	for i := range c.Ports {
		c.Ports[i].ContainerPort, c.Ports[i].HostPort = 8082, 8082
	}
}
