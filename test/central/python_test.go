// SPDX-License-Identifier: Apache-2.0

package central

import (
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestDriversOfTwoLanguagesServeBesideTheBuiltInAndACentralDriver has the built-in drain driver and the drivers of
// examples/command-driver (Go) and examples/driver-python on one node, and another Python driver with the controller.
// Each serves its transition.
func TestDriversOfTwoLanguagesServeBesideTheBuiltInAndACentralDriver(t *testing.T) {
	t.Parallel()
	program := pythonDriver(t)
	env := central(t)
	node := env.Node(t, "languages")
	node.Expect(harness.CordonLeft, notReturned)
	const onNodePython, centralPython = "python.example.com", "central.example.com"
	for _, driver := range []string{onNode, onNodePython, centralPython} {
		env.Transition(t, driver, driver)
	}
	python := func(name, registry string) {
		harness.StartProcess(t, name, nil, "/usr/bin/python3", program, "--driver-name="+name,
			"--datadir="+node.DataDir(), "--plugin-registration-path="+registry)
	}
	registry := filepath.Join(node.Dir, "c")
	env.Controller(t, "of a central driver", "", "--plugin-registration-path="+registry).AwaitLeading()
	python(centralPython, registry)
	node.Agent("")
	python(onNodePython, node.RegistrationDir())
	harness.StartProcess(t, "driver on "+node.Name, nil, harness.Binary(t, "command-driver"), "--node-name="+node.Name,
		"--plugin-registration-path="+node.RegistrationDir(), "--datadir="+node.DataDir(), "--", "true")
	lists(node, "command.example.com,drain.slm.k8s.io,python.example.com")
	node.Pod("languages", quick())

	claimers := map[string]lifecyclev1alpha1.ClaimerKind{
		harness.Drain: lifecyclev1alpha1.NodeAgent, onNode: lifecyclev1alpha1.NodeAgent, onNodePython: lifecyclev1alpha1.NodeAgent,
		centralPython: lifecyclev1alpha1.Controller,
	}
	events := map[string]string{}
	for transition := range claimers {
		events[transition] = node.Event(node.EventName("of-"+transition), transition, harness.Kept).Name
	}
	for transition, kind := range claimers {
		succeededBy(t, env, events[transition], kind)
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": "languages"})
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
