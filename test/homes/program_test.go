// SPDX-License-Identifier: Apache-2.0

package homes

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/harness"
)

// runsTheProgram runs the program of the page as it stands there: it drains the node of the pod, and
// returns it.
func runsTheProgram(t *testing.T, env *harness.Env, node *harness.Node) {
	t.Helper()
	node.Pod("program", harness.PodOptions{})
	program := exec.CommandContext(t.Context(), "go", "run", programOf(t), node.Name)
	program.Dir = harness.File(t)
	program.Env = append(os.Environ(), "KUBECONFIG="+env.Kubeconfig)
	out, err := program.CombinedOutput()
	if want := "node " + node.Name + " is drained"; err != nil || !strings.Contains(string(out), want) {
		t.Fatalf("the program ended with %v and does not say %q:\n%s", err, want, out)
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": "program"})
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
}

// programOf writes the program of the page to a file.
func programOf(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile(harness.File(t, "docs", "how-to", "drain-from-a-program.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(page), "\n```go\n")
	program, _, found := strings.Cut(after, "\n```\n")
	if !found {
		t.Fatal("the page has no program")
	}
	path := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(path, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
