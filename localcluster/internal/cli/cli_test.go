// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slipway-k8s/slipway/localcluster/internal/cluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/component"
	"github.com/slipway-k8s/slipway/localcluster/internal/state"
)

// configure returns what these flags make of a configuration.
func configure(t *testing.T, existing state.Config, args ...string) state.Config {
	t.Helper()
	command := &cobra.Command{}
	what := addSettings(command)
	if err := command.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	request, err := what.request(command)
	if err != nil {
		t.Fatal(err)
	}
	request.Configure(&existing)
	return existing
}

func TestFlagsThatAreNotGivenChangeNothing(t *testing.T) {
	existing := cluster.DefaultConfig()
	existing.Nodes = 7
	existing.FeatureGates = map[string]string{"A": "true"}
	existing.ExtraArgs = map[string][]string{component.Etcd: {"a=b"}}
	got := configure(t, existing)
	if got.Nodes != 7 || !got.SameControlPlane(existing) {
		t.Errorf("got %+v", got)
	}
}

func TestFlagsChangeAConfiguration(t *testing.T) {
	policy := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(policy, []byte("kind: Policy\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got := configure(t, cluster.DefaultConfig(), "--nodes=5", "--feature-gates=A=true,B=false",
		"--apiserver-arg=x=1", "--apiserver-arg=--y=2", "--audit-policy="+policy)
	if got.Nodes != 5 || got.FeatureGates["B"] != "false" || got.AuditPolicy != "kind: Policy\n" {
		t.Errorf("got %+v", got)
	}
	if want := []string{"x=1", "y=2"}; !slices.Equal(got.ExtraArgs[component.APIServer], want) {
		t.Errorf("arguments %v, want %v", got.ExtraArgs[component.APIServer], want)
	}
}

func TestLinkTo(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "kubectl")
	for range 2 { // a link is replaced
		if err := linkTo("/cache/bin/kubectl", link); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.Readlink(link); err != nil || got != "/cache/bin/kubectl" {
		t.Errorf("%s, %v", got, err)
	}
	if err := linkTo("/cache/bin/kubectl", filepath.Join(dir, "k")); !errors.Is(err, errLinkName) {
		t.Errorf("a name by which the program knows nothing: %v", err)
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(link, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := linkTo("/cache/bin/kubectl", link); !errors.Is(err, errLinkTaken) {
		t.Errorf("a file in the way: %v", err)
	}
}

func TestExecute(t *testing.T) {
	empty := t.TempDir()
	cases := map[string]struct {
		args             []string
		code             int
		wantOut, wantErr string
	}{
		"help teaches":                    {[]string{"--help"}, 0, "thrown away", ""},
		"down of nothing is done":         {[]string{"down", "--dir", empty}, 0, "there is no cluster", ""},
		"status of nothing fails":         {[]string{"status", "--dir", empty, "-o", "json"}, 1, `"state":"absent"`, "no local cluster"},
		"a directory is required":         {[]string{"up"}, 1, "", "dir"},
		"a pod needs a namespace":         {[]string{"pod", "x", "--dir", empty, "--", "true"}, 1, "", "NAMESPACE/NAME"},
		"a pod needs a cluster":           {[]string{"pod", "a/x", "--dir", empty, "--", "true"}, 1, "", "no local cluster"},
		"stop says which components are":  {[]string{"stop", "x", "--dir", empty}, 1, "", "kube-apiserver"},
		"an output format is checked":     {[]string{"status", "--dir", empty, "-o", "xml"}, 1, "", "xml"},
		"kubeconfig of nothing is a fail": {[]string{"kubeconfig", "--dir", empty}, 1, "", "no local cluster"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out, complaints strings.Builder
			code := Execute(t.Context(), tc.args, Streams{In: strings.NewReader(""), Out: &out, Err: &complaints})
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
			if !strings.Contains(out.String(), tc.wantOut) {
				t.Errorf("output: %s", &out)
			}
			if !strings.Contains(complaints.String(), tc.wantErr) {
				t.Errorf("complaints: %s", &complaints)
			}
		})
	}
}

// Only of a command that somebody runs through the launcher is it known that it has said
// what is wrong: the failure of one that the launcher runs for itself must be printed.
func TestWhoseFailureItIs(t *testing.T) {
	failed := exec.Command("sh", "-c", "exit 7").Run()
	cases := map[string]struct {
		err  error
		code int
	}{
		"a command's own":           {ofCommand(errors.Join(failed, nil)), 7},
		"not of a command":          {ofCommand(errors.ErrUnsupported), 0},
		"of what the launcher runs": {fmt.Errorf("go build: %w", failed), 0},
		"nothing is wrong":          {ofCommand(nil), 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code := 0
			if ended, is := errors.AsType[*endedError](tc.err); is {
				code = ended.code
			}
			if code != tc.code {
				t.Errorf("exit code %d, want %d", code, tc.code)
			}
		})
	}
}
