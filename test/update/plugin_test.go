// SPDX-License-Identifier: Apache-2.0

package update

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/test/harness"
)

// plugin runs kubectl slipway, and returns what it printed and its exit code.
func plugin(t *testing.T, env *harness.Env, args ...string) (said string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), harness.Binary(t, "kubectl-slipway"), args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+env.Facts.Kubeconfig)
	out, err := command.CombinedOutput()
	if err != nil && command.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), command.ProcessState.ExitCode()
}

// wantPlugin wants it to end with the code, and to say the texts.
func wantPlugin(t *testing.T, env *harness.Env, code int, args []string, texts ...string) {
	t.Helper()
	said, got := plugin(t, env, args...)
	if got != code {
		t.Fatalf("%s: exit code %d; want %d; it said:\n%s", strings.Join(args, " "), got, code, said)
	}
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("%s: it does not say %q, but:\n%s", strings.Join(args, " "), text, said)
		}
	}
}

// kubelets starts processes for the pods of Slipway until the test is over, and returns the directory of their sockets.
func kubelets(t *testing.T, env *harness.Env) string {
	t.Helper()
	bin := filepath.Dir(harness.Binary(t, "node-agent"))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	sockets, err := os.MkdirTemp("", "sk") // short, because of the names of sockets
	if err != nil {
		t.Fatal(err)
	}
	go func() { ended <- env.FollowPods(ctx, bin, sockets, func(what string) { t.Log(what) }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_ = os.RemoveAll(sockets)
	})
	return sockets
}

// All by kubectl slipway: what it shows and refuses before, and what is left after it.
func TestThePluginInstallsUpgradesAndLeavesNothing(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	kubelets(t, env)
	b := &busy{env: env}

	wantPlugin(t, env, 0, []string{"version"}, "none: this cluster serves no LifecycleEvents")
	wantPlugin(t, env, 2, []string{"install"}, "create   Namespace", "--yes")
	wantPlugin(t, env, 0, []string{"install", "--dry-run=server"}, "create   LifecycleTransition")
	if left := env.Kubectl(t, "get", "namespace", devcluster.Namespace, "--ignore-not-found", "-o", "name"); left != "" {
		t.Fatalf("the dry run has created %s", left)
	}
	wantPlugin(t, env, 1, []string{"install", "--yes", "--as=anybody"}, "you may not install", "create clusterroles.rbac.authorization.k8s.io")
	wantPlugin(t, env, 0, []string{"install", "--yes"}, "applied DaemonSet slipway-system/slipway-node-agent", "Slipway works")
	wantPlugin(t, env, 0, []string{"version"}, "node: an agent on each node works", "slipway:0.1.0")
	wantPlugin(t, env, 0, []string{"version", "--as=anybody"}, "Not read:", "is forbidden")
	wantPlugin(t, env, 0, []string{"install", "--yes"}, "unchanged   93 objects")
	wantPlugin(t, env, 1, []string{"install", "--yes", "--mode=central"}, "in mode node", "uninstall")

	env.Kubectl(t, "scale", "deployment", "slipway-controller", "-n", devcluster.Namespace, "--replicas=1")
	wantPlugin(t, env, 1, []string{"install", "--yes"}, "conflict: Deployment", ".spec.replicas", "--force-conflicts")
	wantPlugin(t, env, 0, []string{"install", "--yes", "--force-conflicts", "--image=example.com/slipway:next"}, "change      DaemonSet")
	wantPlugin(t, env, 0, []string{"version"}, "example.com/slipway:next")

	for _, node := range []**harness.Node{&b.draining, &b.drained, &b.foreign} {
		*node = env.Node(t, "uninstall")
	}
	staticPodsAway(t, env, b.drained)
	env.Kubectl(t, "cordon", b.foreign.Name)
	b.held = b.draining.HeldPod("held-" + b.draining.Name)
	b.event = b.draining.EventName("drain")
	b.draining.Event(b.event, harness.Drain)
	for _, node := range []*harness.Node{b.drained, b.foreign} {
		node.Event(node.EventName("drain"), harness.Drain)
		env.AwaitEventGone(t, node.EventName("drain"))
		node.Await("is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable && n.Annotations["slipway.dev/cordons"] != "" })
	}
	b.held.AwaitHeld(t, b.event)
	keptMaintenance(t, env)

	wantPlugin(t, env, 1, []string{"uninstall", "--yes"}, "NodeMaintenance kept is in work", b.event+" of node "+b.draining.Name+" is in work", "node "+b.drained.Name+" is out of service", "--force")
	wantPlugin(t, env, 1, []string{"uninstall", "--yes", "--force", "--as=anybody"}, "you may not uninstall")
	// Static pods are put back while slipway-host is there, which the test plays.
	saysAway(t, env, b.drained)
	uninstall := harness.StartProcess(t, "uninstall", []string{"KUBECONFIG=" + env.Facts.Kubeconfig},
		harness.Binary(t, "kubectl-slipway"), "uninstall", "--yes", "--force")
	uninstall.AwaitLog("returning node " + b.drained.Name + ", whose static pods are away: kube-system/proxy")
	b.drained.Await("takes pods again", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	if said := uninstall.Log(); strings.Contains(said, "deleting DaemonSet") {
		t.Errorf("slipway-host goes before the static pods are back:\n%s", said)
	}
	env.Kubectl(t, "annotate", "--overwrite", "node", b.drained.Name, `slipway.dev/static-pods-host={}`)
	uninstall.AwaitLog("Slipway is gone")
	if said := uninstall.Log(); !strings.Contains(said, "it stays cordoned by another party") || strings.Contains(said, "nobody puts back") {
		t.Errorf("uninstall said:\n%s", said)
	}
	b.nothingIsLeft(t)
	wantPlugin(t, env, 0, []string{"uninstall"}, "Nothing of Slipway is on this cluster")
}

// The manifest, the plugin and the chart install the same objects.
func TestTheManifestThePluginAndHelmChangeOneInstallation(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	kubelets(t, env)
	apply := []string{"apply", "--server-side", "--field-manager=" + installer.FieldManager, "-f"}
	env.Kubectl(t, append(apply, harness.File(t, "config", "install.yaml"))...)
	env.Kubectl(t, "wait", "--for=condition=Established", "crd/lifecycletransitions.lifecycle.k8s.io", "crd/lifecycleevents.lifecycle.k8s.io")
	env.Kubectl(t, append(apply, harness.File(t, "config", "transitions", "lifecycle.k8s.io"))...)

	wantPlugin(t, env, 0, []string{"install", "--yes"}, "unchanged   78 objects")
	wantPlugin(t, env, 0, []string{"install", "--yes", "--eviction-requests", "--sla=10m"}, "change      Deployment", "Slipway works")
	env.Kubectl(t, append(apply, harness.File(t, "config", "install.yaml"))...)
	wantPlugin(t, env, 0, []string{"install", "--yes", "--mode=node"}, "Slipway works")

	env.Shell(t, harness.File(t, ".cache", "tools", "helm")+" upgrade --install slipway "+harness.File(t, "charts", "slipway")+
		" --namespace="+devcluster.Namespace+" --take-ownership --set=evictionRequests.enabled=true --set=drain.sla=20m")
	if sla := env.Kubectl(t, "get", "lifecycletransition", harness.Drain, "-o", "jsonpath={.spec.sla}"); sla != "20m" {
		t.Errorf("Helm has set an SLA of %q", sla)
	}
	wantPlugin(t, env, 1, []string{"install", "--yes"}, "use 'helm upgrade'")
	wantPlugin(t, env, 0, []string{"uninstall", "--yes"}, "sh.helm.release.v1.slipway.v1", "Slipway is gone")
	wantPlugin(t, env, 0, []string{"uninstall"}, "Nothing of Slipway is on this cluster")
}

// staticPodsAway is that slipway-host cannot go while static pods of a node are away; when it does,
// nothing on the node says that it is there.
func staticPodsAway(t *testing.T, env *harness.Env, node *harness.Node) {
	t.Helper()
	wantPlugin(t, env, 0, []string{"install", "--yes", "--host"}, "create", "DaemonSet", "slipway-host")
	saysAway(t, env, node)
	env.Kubectl(t, "annotate", "node", node.Name, "slipway.dev/shutdown-delay=5s")
	wantPlugin(t, env, 0, []string{"status"}, node.Name+" (5s)")
	wantPlugin(t, env, 1, []string{"install", "--yes"}, "static pods of node "+node.Name+" are away: kube-system/proxy", "Nobody would put them back")
	wantPlugin(t, env, 1, []string{"install", "--yes", "--host"}, "Nobody would put them back")
	wantPlugin(t, env, 1, []string{"uninstall", "--yes"}, "static pods of node "+node.Name+" are away: kube-system/proxy", "nothing was deleted")
	env.Kubectl(t, "annotate", "--overwrite", "node", node.Name, `slipway.dev/static-pods-host={}`)
	wantPlugin(t, env, 0, []string{"install", "--yes"}, "deleting DaemonSet slipway-system/slipway-host")
	n := node.Await("is there", func(*corev1.Node) bool { return true })
	for _, key := range []string{"slipway.dev/static-pods-host", "slipway.dev/shutdown-delay"} {
		if text, has := n.Annotations[key]; has {
			t.Errorf("node %s says %s: %s", n.Name, key, text)
		}
	}
}

func saysAway(t *testing.T, env *harness.Env, node *harness.Node) {
	t.Helper()
	env.Kubectl(t, "annotate", "--overwrite", "node", node.Name, `slipway.dev/static-pods-host={"away":["kube-system/proxy"]}`)
}

// Its agents are dead, or were never there: nobody ends the event.
func TestThePluginUninstallsWhatNobodyLooksAfter(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	// Nobody reads what it says, and it goes on.
	env.Shell(t, harness.Binary(t, "kubectl-slipway")+" install --yes | true")
	node := env.Node(t, "orphans")
	event := node.EventName("drain")
	env.KubectlWith(t, `{"apiVersion":"lifecycle.k8s.io/v1alpha1","kind":"LifecycleEvent","metadata":{"name":"`+event+`","finalizers":["lifecycle.k8s.io/claim-protection","example.com/audit"]},
		"spec":{"transitionName":"drain.slm.k8s.io","bindingNode":"`+node.Name+`"}}`, "create", "-f", "-")
	env.Kubectl(t, "create", "secret", "generic", "registry", "-n", devcluster.Namespace)

	saysAway(t, env, node)
	wantPlugin(t, env, 1, []string{"uninstall", "--yes"}, event+" of node "+node.Name+" is held by example.com/audit", "nothing was deleted")
	if e := eventOf(t, env, event); e.DeletionTimestamp != nil || len(e.Finalizers) != 2 {
		t.Fatalf("it has deleted the event, or taken off its finalizers: %q", e.Finalizers)
	}
	wantPlugin(t, env, 0, []string{"uninstall", "--yes", "--force", "--timeout=3m"},
		"with third-party finalizers: example.com/audit", "nobody ends LifecycleEvent "+event,
		"its static pods come back: kube-system/proxy", "nobody puts back the static pods of node "+node.Name+" (kube-system/proxy)", "Slipway is gone", "Namespace slipway-system stays", "Secret registry")
	env.Kubectl(t, "get", "secret", "registry", "-n", devcluster.Namespace)
	// What is lost on the machine, its Node tells, until somebody has put it back.
	wantPlugin(t, env, 1, []string{"uninstall", "--yes"}, "static pods of node "+node.Name+" are away: kube-system/proxy")
	env.Kubectl(t, "annotate", "node", node.Name, "slipway.dev/static-pods-host-")
	wantPlugin(t, env, 0, []string{"uninstall", "--yes"}, "Nothing of Slipway is on this cluster.", "Secret registry")
}
