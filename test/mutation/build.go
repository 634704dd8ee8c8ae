// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// runtime has the functions that make a mistake, if it is the one that is switched on.
//
//go:embed runtime.go.txt
var runtime string

// build compiles the tests of the package with all mistakes in it, none of which is switched
// on, and gives the path of the binary.
func build(ctx context.Context, s *source, texts map[string][]byte, dir string) (string, error) {
	replace := map[string]string{}
	texts[filepath.Join(s.dir, "zz_mutation.go")] = []byte(strings.Replace(runtime, "PACKAGE", s.name, 1))
	for path, text := range texts {
		replace[path] = filepath.Join(dir, filepath.Base(path))
		if err := os.WriteFile(replace[path], text, 0o600); err != nil {
			return "", fmt.Errorf("write mutated source: %w", err)
		}
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	list, binary := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "tests")
	if err := os.WriteFile(list, overlay, 0o600); err != nil {
		return "", fmt.Errorf("write overlay: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", list, "-o", binary, s.path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the tests of %s with mistakes: %w\n%s", s.path, err, out)
	}
	return binary, nil
}
