// SPDX-License-Identifier: Apache-2.0

package docs

import (
	"os"
	"strings"
	"testing"

	"github.com/slipway-k8s/slipway/test/harness"
)

// blocks are the blocks of commands of a page, in their order.
func blocks(t *testing.T, page string) (found []string) {
	t.Helper()
	for _, part := range strings.Split(text(t, page), "\n```sh\n")[1:] {
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
