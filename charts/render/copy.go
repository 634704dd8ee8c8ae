// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// copied are the folders of config that the chart has in it. A chart cannot have files from
// outside, and a link to them does not survive everywhere.
var copied = []string{"crd", "rbac", "admission", "transitions", "monitoring"}

// notCopied is created with the release: helm install --create-namespace.
const notCopied = "rbac/00-namespace.yaml"

// chartFiles are the files that the chart should have, by their names in charts/slipway/files.
func chartFiles(root string) (map[string][]byte, error) {
	files := map[string][]byte{}
	config := os.DirFS(filepath.Join(root, "config"))
	for _, dir := range copied {
		err := fs.WalkDir(config, dir, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || name == notCopied || !strings.HasSuffix(name, ".yaml") {
				return err
			}
			files[name], err = fs.ReadFile(config, name)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read config/%s: %w", dir, err)
		}
	}
	return files, nil
}

// copyFiles makes the chart have them, and no others.
func copyFiles(root string) error {
	files, err := chartFiles(root)
	if err != nil {
		return err
	}
	to := filepath.Join(root, "charts", "slipway", "files")
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	for name, text := range files {
		path := filepath.Join(to, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil { //nolint:gosec // as git has it
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil { //nolint:gosec // it is no secret
			return err
		}
	}
	return nil
}
