// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	if err := copyFiles(root); err != nil {
		return err
	}
	for name, values := range manifests {
		text, err := manifest(root, values)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(root, "config", name), []byte(text), 0o644); err != nil { //nolint:gosec // it is no secret
			return err
		}
	}
	return nil
}

// findRoot is the repository that the process was started in.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for ; ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "charts", "slipway", "Chart.yaml")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("find the repository: no directory above the current one has charts/slipway")
		}
	}
}
