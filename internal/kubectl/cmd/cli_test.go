// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden wants a text to be what the file in testdata says.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got), -update writes it anew:\n%s", path, diff)
	}
}

// execute runs a command line and gives what it prints, and its exit code.
func execute(t *testing.T, args ...string) (out, errOut string, code int) {
	t.Helper()
	streams, _, stdout, stderr := genericiooptions.NewTestIOStreams()
	command := newTool(streams).command()
	command.SetArgs(args)
	code = run(t.Context(), command)
	return text(stdout), text(stderr), code
}

func text(b *bytes.Buffer) string { return strings.ReplaceAll(b.String(), os.Getenv("HOME"), "~") }

func TestAWrongCommandLineIsRefusedWithWhatIsRight(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown-command": {"dry"},
		"unknown-flag":    {"version", "--nope"},
		"unknown-format":  {"version", "-o", "xml"},
		"an-argument":     {"version", "worker-1"},
	} {
		t.Run(name, func(t *testing.T) {
			out, errOut, code := execute(t, args...)
			if code != Usage || out != "" {
				t.Errorf("exit code %d, want %d; stdout %q", code, Usage, out)
			}
			golden(t, "usage/"+name, errOut)
		})
	}
}
