// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
)

func TestAWrongCommandLineIsRefusedWithWhatIsRight(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown-command": {"dry"},
		"unknown-flag":    {"version", "--nope"},
		"unknown-format":  {"version", "-o", "xml"},
		"an-argument":     {"version", "worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, args...)
			if code != cli.WrongUsage || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, cli.WrongUsage, out)
			}
			clitest.Golden(t, "usage/"+name, errOut)
		})
	}
}

// aboutNodes are the commands that read how nodes are.
var aboutNodes = []string{"explain", "drivers", "plan"}

func TestANodeThatIsNotThereIsAnError(t *testing.T) {
	server := clitest.OneNode(t)
	for _, command := range aboutNodes {
		for _, node := range []string{"nosuch", "node/nosuch"} {
			out, errOut, code := execute(t, command, node, "--server="+server, "--kubeconfig=")
			if code != cli.Error || out != "" || errOut != "error: there is no node \"nosuch\"; 'kubectl get nodes' lists them\n" {
				t.Errorf("%s %s: exit code %d, stdout %q, stderr %q", command, node, code, out, errOut)
			}
		}
	}
}

func TestANodeIsNamedWithItsKindOrWithout(t *testing.T) {
	server := clitest.OneNode(t)
	for _, command := range aboutNodes {
		var said []string
		for _, node := range []string{"worker-1", "node/worker-1", "nodes/worker-1", "no/worker-1"} {
			out, errOut, code := execute(t, command, node, "--server="+server, "--kubeconfig=")
			if code != cli.Done || !strings.Contains(out, "worker-1") {
				t.Errorf("%s %s: exit code %d, stdout %q, stderr %q", command, node, code, out, errOut)
			}
			if said = append(said, out); out != said[0] {
				t.Errorf("%s %s says\n%s\nand not\n%s", command, node, out, said[0])
			}
		}
		if _, errOut, code := execute(t, command, "pod/worker-1", "--server="+server, "--kubeconfig="); code != cli.WrongUsage {
			t.Errorf("%s pod/worker-1: exit code %d, stderr %q", command, code, errOut)
		}
	}
}

func TestWithoutSlipwayACommandSaysHowToGetIt(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	for _, args := range [][]string{{"drivers"}, {"drain", "worker-1"}, {"uncordon", "worker-1"}, {"cancel", "worker-1"}, {"explain", "worker-1"}} {
		_, errOut, code := execute(t, append(args, "--server="+server.URL, "--kubeconfig=")...)
		if code != cli.Error || !strings.Contains(errOut, "'kubectl slipway install'") {
			t.Errorf("%v: exit code %d: %s", args, code, errOut)
		}
	}
}
