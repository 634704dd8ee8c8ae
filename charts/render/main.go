// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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
	if len(os.Args) > 1 {
		return show(root, os.Args[1])
	}
	if err := copyFiles(root); err != nil {
		return err
	}
	texts, err := rendered(root)
	if err != nil {
		return err
	}
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(root, "config", name), []byte(text), 0o644); err != nil { //nolint:gosec // it is no secret
			return err
		}
	}
	return nil
}

// show prints the chart with the given values, in JSON, for the newest server.
func show(root, text string) error {
	var v values
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return fmt.Errorf("read the values: %w", err)
	}
	rendered, err := render(root, newest, v)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(os.Stdout, strings.Join(rendered, "\n---\n"))
	return err
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
