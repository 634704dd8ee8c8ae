// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// stageSets are directories of kwok's module. With pod/general, annotations of
// a pod set how long it takes to start and to end.
var stageSets = []string{"node/fast", "node/heartbeat-with-lease", "pod/general"}

// copyStages takes kwok's stage files out of its module, which the build has
// just fetched: the same version as the kwok that reads them.
func (e *entry) copyStages(ctx context.Context) error {
	module, err := e.output(ctx, "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok")
	if err != nil {
		return err
	}
	for _, set := range stageSets {
		files, err := filepath.Glob(filepath.Join(strings.TrimSpace(module), "kustomize", "stage", set, "*.yaml"))
		if err != nil {
			return fmt.Errorf("look for kwok's stages: %w", err)
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			if err := copyFile(file, filepath.Join(e.stages(), filepath.Base(file))); err != nil {
				return err
			}
		}
	}
	return nil
}

func copyFile(from, to string) error {
	content, err := os.ReadFile(from)
	if err != nil {
		return fmt.Errorf("read a stage of kwok: %w", err)
	}
	const readable = 0o644
	if err := os.WriteFile(to, content, readable); err != nil {
		return fmt.Errorf("copy a stage of kwok: %w", err)
	}
	return nil
}
