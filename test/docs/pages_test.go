// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// blocks are the blocks of commands of a page, in their order.
func blocks(t *testing.T, page string) []string {
	t.Helper()
	return blocksIn(t, page, "sh")
}

// blocksIn are those in a language.
func blocksIn(t *testing.T, page, language string) (found []string) {
	t.Helper()
	for _, part := range strings.Split(text(t, page), "\n```"+language+"\n")[1:] {
		block, _, closed := strings.Cut(part, "\n```\n")
		if !closed {
			t.Fatalf("a block of %s has no end", page)
		}
		found = append(found, block)
	}
	return found
}

func text(t *testing.T, page string) string {
	t.Helper()
	content, err := os.ReadFile(harness.File(t, page))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// commands are the commands of a page, one by one; some take several lines.
func commands(t *testing.T, page string) (all []string) {
	t.Helper()
	begun := ""
	for line := range strings.Lines(strings.Join(blocks(t, page), "\n") + "\n") {
		if begun += line; strings.HasSuffix(begun, "\\\n") {
			continue
		}
		all, begun = append(all, strings.TrimSuffix(begun, "\n")), ""
	}
	return all
}
