// SPDX-License-Identifier: Apache-2.0

package devcluster

import (
	"fmt"
	"os"
	"path/filepath"
)

// LauncherVariable names the launcher's binary, where it is not bin/localcluster.
const LauncherVariable = "SLIPWAY_LOCALCLUSTER"

// FindLauncher finds the launcher's binary.
func FindLauncher() (string, error) {
	if path := os.Getenv(LauncherVariable); path != "" {
		return path, nil
	}
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "bin", "localcluster")
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("there is no local control plane: run 'make localcluster' first: %w", err)
	}
	return path, nil
}

// Root is the root of the repository that the process was started in.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the repository: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "config", "crd")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find the repository: no directory above the current one has config/crd")
		}
		dir = parent
	}
}
