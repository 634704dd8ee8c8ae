// SPDX-License-Identifier: Apache-2.0

package update

import (
	"os/exec"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestAnInstallationServesDriversOfTwoLanguages has, in one installation with --third-party-drivers: the built-in drain driver, the
// driver of examples/command-driver in a Go module of its own, and examples/driver-python with the agent of a node; and another
// Python driver with the controller. Each serves its transition.
func TestAnInstallationServesDriversOfTwoLanguages(t *testing.T) {
	t.Parallel()
	const inGo, inPython, centralPython = "command.example.com", "python.example.com", "central.example.com"
	goDriver, pythonDriver := driverOfAnotherModule(t), pythonDriver(t)
	env := harness.OwnBare(t)
	sockets := kubelets(t, env)
	wantPlugin(t, env, 0, []string{"install", "--yes", "--third-party-drivers"}, "Slipway works")
	for _, driver := range []string{inGo, inPython, centralPython} {
		env.Transition(t, driver, driver)
	}
	python := func(name, registry, dataDir string) {
		harness.StartProcess(t, name, nil, "/usr/bin/python3", pythonDriver, "--driver-name="+name, "--datadir="+dataDir, "--plugin-registration-path="+registry)
	}

	// As the chart does for its value centralDrivers.
	central := filepath.Join(sockets, "c")
	env.Kubectl(t, "patch", "deployment", "slipway-controller", "-n", devcluster.Namespace, "--type=json",
		`--patch=[{"op":"add","path":"/spec/template/spec/containers/0/args/-","value":"--plugin-registration-path=`+central+`"},
			{"op":"replace","path":"/spec/replicas","value":1}]`)
	python(centralPython, central, central)

	node := env.Node(t, "languages")
	node.Expect(harness.CordonLeft, "a node that was drained stays cordoned until it is returned, which is not part of this test")
	registry, dataDir := filepath.Join(sockets, node.Name, "r"), filepath.Join(sockets, node.Name, "d")
	python(inPython, registry, dataDir)
	harness.StartProcess(t, inGo, nil, goDriver, "--node-name="+node.Name, "--plugin-registration-path="+registry, "--datadir="+dataDir, "--", "true")
	const registered = inGo + "," + harness.Drain + "," + inPython
	node.Await("lists "+registered, func(n *corev1.Node) bool { return n.Annotations["slipway.dev/drivers"] == registered })
	node.Pod("languages", harness.PodOptions{})

	claimers := map[string]lifecyclev1alpha1.ClaimerKind{
		harness.Drain: lifecyclev1alpha1.NodeAgent, inGo: lifecyclev1alpha1.NodeAgent, inPython: lifecyclev1alpha1.NodeAgent,
		centralPython: lifecyclev1alpha1.Controller,
	}
	events := map[string]string{}
	for transition := range claimers {
		events[transition] = node.Event(node.EventName("of-"+transition), transition, harness.Kept).Name
	}
	for transition, kind := range claimers {
		e := env.Outcome(t, events[transition])
		if by := e.Status.ClaimedBy; e.Status.ClaimStatus != lifecyclev1alpha1.Succeeded || by == nil || by.Kind != kind {
			t.Errorf("event of %s ended as %s, claimed by %+v: %+v; want Succeeded, by %s", transition, e.Status.ClaimStatus, by, harness.Finished(e), kind)
		}
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": "languages"})
}

// driverOfAnotherModule builds a copy of examples/command-driver outside of this module.
func driverOfAnotherModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	build := exec.Command("bash", "-euc", `
		cp "$1"/examples/command-driver/{main,command}.go "$1"/go.sum .
		go mod init example.com/command-driver
		go mod edit -replace=github.com/slipway-k8s/slipway="$1" -require=github.com/slipway-k8s/slipway@v0.0.0
		go build -mod=mod -o command-driver .`, "bash", harness.File(t))
	build.Dir = dir
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the driver of another module: %v: %s", err, out)
	}
	return filepath.Join(dir, "command-driver")
}

// pythonDriver returns the program of examples/driver-python, beside the code that it generates.
func pythonDriver(t *testing.T) string {
	t.Helper()
	if out, err := exec.Command("/usr/bin/python3", "-c", "import grpc, grpc_tools").CombinedOutput(); err != nil {
		t.Skipf("missing: python3-grpcio, python3-grpc-tools: %v: %s", err, out)
	}
	dir := t.TempDir()
	if out, err := exec.Command(harness.File(t, "examples", "driver-python", "generate.sh"), dir).CombinedOutput(); err != nil {
		t.Fatalf("generate the code of the Python driver: %v: %s", err, out)
	}
	return filepath.Join(dir, "driver.py")
}
