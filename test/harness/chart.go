// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Renderer is the program that renders the chart as Helm does. It is in a module of its own.
func Renderer(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "render")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, ".")
	command.Dir = File(t, "charts", "render")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build the renderer: %v\n%s", err, out)
	}
	return path
}

// Rendered is the chart with the given values, in JSON, by the program of [Renderer].
func Rendered(t *testing.T, renderer, values string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), renderer, values)
	command.Dir = File(t)
	var trouble strings.Builder
	command.Stderr = &trouble
	rendered, err := command.Output()
	if err != nil {
		t.Fatalf("render the chart with %s: %v\n%s", values, err, trouble.String())
	}
	return string(rendered)
}
