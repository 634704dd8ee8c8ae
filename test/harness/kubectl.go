// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/slipway-k8s/slipway/internal/devcluster"
)

// Kubectl runs the cluster's kubectl as its administrator, and returns its output.
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

// Shell runs commands as an administrator does, in the root of this repository with the cluster's kubectl, and
// returns their output. It fails with the first command that fails.
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

// FollowKubectl starts a kubectl that does not end by itself, such as get -w, and returns when its watch has begun.
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

// Renderer builds the program that renders the chart as Helm does, from its separate module, and returns its path.
func Renderer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "render")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	command.Dir = File(t, "charts", "render")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the renderer: %v\n%s", err, out)
	}
	return path
}

// Rendered is the chart with the given values, in JSON, by the program of [Renderer].
func Rendered(t *testing.T, renderer, values string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), renderer, values)
	command.Dir = File(t)
	var trouble strings.Builder
	command.Stderr = &trouble
	rendered, err := command.Output()
	if err != nil {
		t.Fatalf("render the chart with %s: %v\n%s", values, err, trouble.String())
	}
	return string(rendered)
}

// Record adds a row to the table at the end of the page that SLIPWAY_RECORD names, when the test has passed: readers
// want to know the last run of tests that are too long for each change.
func Record(t *testing.T, what string) {
	t.Helper()
	page := os.Getenv("SLIPWAY_RECORD")
	if page == "" {
		return
	}
	began := time.Now()
	t.Cleanup(func() {
		if t.Failed() || t.Skipped() {
			return
		}
		row := fmt.Sprintf("| %s | %s | %s | %s | %s |\n", began.Format(time.DateOnly), commit(), t.Name(), what, time.Since(began).Round(time.Second))
		file, err := os.OpenFile(page, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Errorf("SLIPWAY_RECORD: %v", err)
			return
		}
		_, err = file.WriteString(row)
		if err := file.Close(); err != nil {
			t.Errorf("SLIPWAY_RECORD: %v", err)
		}
		if err != nil {
			t.Errorf("SLIPWAY_RECORD: %v", err)
		}
	})
}

// commit returns the commit of the working tree, without later changes.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=12", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// FreeAddress returns a loopback address without a listener. Its port is below those that
// Linux gives to outgoing connections (32768 and up): a process under test that restarts
// finds it free again.
func FreeAddress(t *testing.T) string {
	t.Helper()
	const lowest, highest, attempts = 20000, 32000, 100
	for range attempts {
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(highest-lowest)))
		if listener, err := net.Listen("tcp", address); err == nil {
			listener.Close()
			return address
		}
	}
	t.Fatalf("no free TCP port on 127.0.0.1 between %d and %d after %d attempts", lowest, highest, attempts)
	return ""
}

// Get asks a process under test, as kubelets and Prometheus do.
func Get(t *testing.T, address, path string) (code int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// Refused checks that the API server refused an object as invalid, and named the field and the reason.
func Refused(t *testing.T, err error, parts ...string) {
	t.Helper()
	if !apierrors.IsInvalid(err) {
		t.Fatalf("got error %v; want that it is invalid: %q", err, parts)
	}
	for _, part := range parts {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the API server answers %q; want %q in it", err, part)
		}
	}
}
