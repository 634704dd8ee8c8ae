// SPDX-License-Identifier: Apache-2.0

package update

import (
	"os"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// page is what people read, and what these tests run.
const page = "docs/install.md"

// manifest is what its commands apply.
const manifest = "config/install.yaml"

// commands are the blocks of commands in a section of the page.
func commands(t *testing.T, section string) (blocks []string) {
	t.Helper()
	text, err := os.ReadFile(harness.File(t, page))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, part := range strings.Split(rest, "\n```sh\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```\n")
		if !closed {
			t.Fatalf("a block of %q in %s has no end", section, page)
		}
		blocks = append(blocks, block)
	}
	if len(blocks) == 0 {
		t.Fatalf("%s has no commands in section %q", page, section)
	}
	return blocks
}

// follow runs the commands of a section, with another file in place of the manifest if one
// is given.
func follow(t *testing.T, env *harness.Env, section, file string) {
	t.Helper()
	for _, block := range commands(t, section) {
		if file != "" {
			block = strings.ReplaceAll(block, manifest, file)
		}
		t.Logf("$ %s\n%s", block, env.Shell(t, block))
	}
}
