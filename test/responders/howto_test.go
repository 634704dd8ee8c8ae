// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

// page is what people read who write a responder.
var page = filepath.Join("docs", "how-to", "write-a-responder.md")

// blocks are the page's blocks of a language, in their order.
func blocks(t *testing.T, language string) (found []string) {
	t.Helper()
	text, err := os.ReadFile(harness.File(t, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```\n")
		if !closed {
			t.Fatalf("a block in %s has no end", page)
		}
		found = append(found, block+"\n")
	}
	if len(found) == 0 {
		t.Fatalf("%s has no blocks in %s", page, language)
	}
	return found
}

// The commands of the page, all of them, on the cluster that they make. Whoever follows
// them has built what the test has built before.
func theHowTo(t *testing.T, s *server) {
	dir := t.TempDir()
	launcher, err := devcluster.FindLauncher()
	if err != nil {
		t.Fatal(err)
	}
	script := strings.NewReplacer(
		"make localcluster\n", "", // it is built
		"bin/localcluster", launcher,
		"bin/kubectl", s.Facts.Kubectl,
		"bin/controller", binary(t, "controller"),
		"bin/", filepath.Join(dir, "bin")+"/",
		".local/", dir+"/",
	).Replace(strings.Join(blocks(t, "sh"), ""))
	t.Cleanup(func() {
		_ = exec.Command(launcher, "down", "--dir", filepath.Join(dir, "evictions")).Run() // where the script has failed
	})
	out := s.Shell(t, script)
	if want := `"message":"the backup is complete"`; !strings.Contains(out, want) {
		t.Errorf("the output has no %s:\n%s", want, out)
	}
}

func TestTheCodeOfTheHowToCompiles(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "main.go")
	if err := os.WriteFile(file, []byte(blocks(t, "go")[0]), 0o600); err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "go", "vet", file)
	command.Dir = harness.File(t)
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
