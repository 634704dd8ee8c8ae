// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
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

// The driver of the page, from its program to the end of its event. The page builds and loads the
// image with other tools.
func TestTheDriverOfThePageRunsInADaemonSetOfItsOwn(t *testing.T) {
	s := emptyScene(t)
	host, err := os.MkdirTemp("", "slw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(host) })
	agents := daemonSetsIn(harness.Rendered(t, harness.Renderer(t), `{"thirdPartyDrivers": {"enabled": true, "hostPath": "`+host+`"}}`))[0]
	s.start(agents, agentImage)

	dir := t.TempDir()
	write(t, filepath.Join(dir, "main.go"), pageBlocks(t, "go")[0])
	if err := errors.Join(compile(filepath.Join(dir, "main.go"), filepath.Join(dir, "driver")), loadImage(filepath.Join(dir, "driver"), "docker.io/library/firmware-driver:1", s.env.Facts.Dir)); err != nil {
		t.Fatal(err)
	}
	// It differs in its node, and in the folder of the host.
	manifest := strings.NewReplacer(
		"path: /var/lib/slipway/", "path: "+host+"/",
		"      tolerations:", "      nodeSelector: {"+harness.GroupLabel+": "+group+"}\n      hostNetwork: true\n      tolerations:",
	).Replace(pageBlocks(t, "yaml")[0])
	write(t, filepath.Join(dir, "driver.yaml"), manifest)
	t.Cleanup(func() {
		for _, object := range []string{"lifecycleevent/firmware", "daemonset/firmware-driver", "lifecycletransition/firmware.example.com"} {
			_ = exec.Command(s.env.Facts.Kubectl, "--kubeconfig="+s.env.Kubeconfig, "delete", "-n", "slipway-system", object).Run()
		}
	})
	out := s.env.Shell(t, "cd "+dir+"\nNODE="+nodeName+"\nPATH="+filepath.Dir(harness.Binary(t, "kubectl-slipway"))+":$PATH\n"+strings.Join(pageBlocks(t, "sh"), "\n"))
	for _, want := range []string{"firmware.example.com   yes     firmware.example.com", "condition met"} {
		if !strings.Contains(out, want) {
			t.Errorf("the commands do not show %q:\n%s", want, out)
		}
	}
}

// pageBlocks are the blocks of a language of the page about drivers.
func pageBlocks(t *testing.T, language string) (found []string) {
	t.Helper()
	page, err := os.ReadFile(harness.File(t, "docs", "how-to", "write-a-driver.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(page), "\n```"+language+"\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```\n")
		found = append(found, block)
	}
	return found
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
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
