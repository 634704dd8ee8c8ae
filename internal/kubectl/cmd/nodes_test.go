// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// oneNode is a cluster with Slipway, and with worker-1 and nothing else.
func oneNode(t *testing.T) (url string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		name, isNode := strings.CutPrefix(r.URL.Path, "/api/v1/nodes/")
		switch {
		case name == "worker-1":
			_, _ = io.WriteString(w, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"worker-1"}}`)
		case r.URL.Path == "/api/v1/nodes":
			_, _ = io.WriteString(w, `{"items":[{"metadata":{"name":"worker-1"}}]}`)
		case isNode:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`)
		case strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadataList"):
			_, _ = io.WriteString(w, `{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","items":[]}`)
		default:
			_, _ = io.WriteString(w, `{"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// aboutNodes are the commands that read how nodes are.
var aboutNodes = []string{"explain", "drivers", "plan"}

func TestANodeThatIsNotThereIsAnError(t *testing.T) {
	server := oneNode(t)
	for _, command := range aboutNodes {
		for _, node := range []string{"nosuch", "node/nosuch"} {
			out, errOut, code := execute(t, command, node, "--server="+server, "--kubeconfig=")
			if code != Error || out != "" || errOut != "error: there is no node \"nosuch\"; 'kubectl get nodes' lists them\n" {
				t.Errorf("%s %s: exit code %d, stdout %q, stderr %q", command, node, code, out, errOut)
			}
		}
	}
}

func TestANodeIsNamedWithItsKindOrWithout(t *testing.T) {
	server := oneNode(t)
	for _, command := range aboutNodes {
		var said []string
		for _, node := range []string{"worker-1", "node/worker-1", "nodes/worker-1", "no/worker-1"} {
			out, errOut, code := execute(t, command, node, "--server="+server, "--kubeconfig=")
			if code != Done || !strings.Contains(out, "worker-1") {
				t.Errorf("%s %s: exit code %d, stdout %q, stderr %q", command, node, code, out, errOut)
			}
			if said = append(said, out); out != said[0] {
				t.Errorf("%s %s says\n%s\nand not\n%s", command, node, out, said[0])
			}
		}
		if _, errOut, code := execute(t, command, "pod/worker-1", "--server="+server, "--kubeconfig="); code != Usage {
			t.Errorf("%s pod/worker-1: exit code %d, stderr %q", command, code, errOut)
		}
	}
}
