// SPDX-License-Identifier: Apache-2.0

package status

import (
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func TestVersionSaysWhatIsThereAndWhatMayNotBeRead(t *testing.T) {
	for name, v := range map[string]versions{
		"client":        {Client: "v0.1.0"},
		"not-installed": {Client: "v0.1.0", Kubernetes: "v1.37.1"},
		"kinds-only":    {Client: "v0.1.0", Kubernetes: "v1.37.1", APIGroup: "lifecycle.k8s.io"},
		"installed": {
			Client: "v0.1.0", Kubernetes: "v1.37.1", APIGroup: "lifecycle.k8s.io",
			Installed: []release.Installed{{Namespace: "slipway-system", Image: "ghcr.io/slipway-k8s/slipway:0.1.0", Mode: release.Node}},
		},
		"upgrading-reduced": {
			Client: "v0.2.0", Kubernetes: "v1.35.0", APIGroup: "slm.slipway.dev",
			Installed: []release.Installed{{
				Namespace: "slipway-system", Image: "ghcr.io/slipway-k8s/slipway:0.2.0", AgentImage: "ghcr.io/slipway-k8s/slipway:0.1.0",
				Mode: release.Node, Reduced: true,
			}},
		},
		"unread": {
			Client: "v0.1.0", Kubernetes: "v1.37.1", APIGroup: "lifecycle.k8s.io",
			Unread: []string{`read the Deployment of the controllers: deployments.apps is forbidden: User "ada" cannot list resource "deployments" in API group "apps" in the namespace "slipway-system"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			clitest.GoldenStyles(t, "version/"+name, func(out io.Writer, style ui.Style) error {
				_, err := io.WriteString(out, v.text(style, false))
				return err
			})
			clitest.GoldenEncoded(t, "version/"+name, v)
		})
	}
}

func TestVersionSaysThatOfTheClientWhereTheClusterDoesNotAnswer(t *testing.T) {
	server := httptest.NewServer(nil)
	server.Close()
	for _, format := range []string{"", "-ojson"} {
		args := slices.DeleteFunc([]string{"version", format}, func(arg string) bool { return arg == "" })
		out, errOut, code := execute(t, append(args, "--server="+server.URL, "--kubeconfig=")...)
		if code != cli.Error || !strings.Contains(errOut, "error: ") {
			t.Errorf("%q: exit code %d: %s", format, code, errOut)
		}
		if !strings.Contains(out, clientVersion()) {
			t.Errorf("%q: it does not say the client's version: %q", format, out)
		}
	}
}
