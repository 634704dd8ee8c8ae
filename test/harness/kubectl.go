// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// Kubectl runs the cluster's kubectl as its administrator, and returns what it printed.
func (e *Env) Kubectl(t *testing.T, arguments ...string) string {
	t.Helper()
	return e.KubectlWith(t, "", arguments...)
}

// KubectlWith is [Env.Kubectl] with something on standard input.
func (e *Env) KubectlWith(t *testing.T, input string, arguments ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), e.Facts.Kubectl, e.kubectlArguments(arguments)...)
	command.Stdin = strings.NewReader(input)
	var out, trouble bytes.Buffer
	command.Stdout, command.Stderr = &out, &trouble
	if err := command.Run(); err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(arguments, " "), err, trouble.String())
	}
	return out.String()
}

// Shell runs commands as an administrator does, in the root of this repository with the
// cluster's kubectl, and returns what they printed. It fails as soon as one of them does.
func (e *Env) Shell(t *testing.T, script string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	command.Dir = File(t)
	command.Env = append(os.Environ(), "KUBECONFIG="+e.Facts.Kubeconfig, "KUBECACHEDIR="+filepath.Join(e.dir, "kubectl"),
		"PATH="+filepath.Dir(e.Facts.Kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"))
	out, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("%v of\n%s\n%s", err, script, out)
	}
	return string(out)
}

// FollowKubectl starts a kubectl that goes on, such as get -w, and returns when its
// watch has begun.
func (e *Env) FollowKubectl(t *testing.T, arguments ...string) *Process {
	t.Helper()
	arguments = append(e.kubectlArguments(arguments), "-v=6")
	p := StartProcess(t, "kubectl", nil, e.Facts.Kubectl, arguments...)
	p.AwaitLog("watch=true")
	return p
}

// kubectlArguments has a cache of the cluster's own: kubectl's is by address, and
// addresses are used again.
func (e *Env) kubectlArguments(arguments []string) []string {
	return append([]string{"--kubeconfig=" + e.Facts.Kubeconfig, "--cache-dir=" + filepath.Join(e.dir, "kubectl")}, arguments...)
}

// File is the path of a file of this repository.
func File(t *testing.T, elements ...string) string {
	t.Helper()
	root, err := devcluster.Root()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(append([]string{root}, elements...)...)
}
