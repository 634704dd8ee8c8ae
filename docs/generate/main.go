// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"

	"github.com/slipway-k8s/slipway/internal/reasons"
)

func main() {
	pages := map[string]func() string{
		reasons.PagePath:                    reasonsPage,
		"docs/reference/fields.md":          fields,
		"docs/reference/flags.md":           flags,
		"docs/reference/kubectl-slipway.md": plugin,
		metricsPage:                         metrics,
	}
	for path, write := range pages {
		if err := os.WriteFile(path, []byte(write()), 0o644); err != nil {
			fail(err)
		}
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "generate:", err)
	os.Exit(1)
}
