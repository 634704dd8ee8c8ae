// SPDX-License-Identifier: Apache-2.0

// Package atomicfile replaces a file as a whole: a reader sees the old content
// or the new, never a part.
package atomicfile

import (
	"fmt"
	"os"
	"path/filepath"
)

// Write replaces the file at path by one with this content and mode.
func Write(path string, content []byte, mode os.FileMode) error {
	temporary, err := os.CreateTemp(filepath.Dir(path), temporaryName(path))
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := fill(temporary, content, mode, path); err != nil {
		_ = os.Remove(temporary.Name())
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

// Leftovers lists the temporary files of writers that were killed while they
// wrote the file at path.
func Leftovers(path string) []string {
	found, err := filepath.Glob(filepath.Join(filepath.Dir(path), temporaryName(path)))
	if err != nil {
		return nil // the path itself is a malformed pattern; then there is none to find
	}
	return found
}

func temporaryName(path string) string { return "." + filepath.Base(path) + "-*" }

func fill(temporary *os.File, content []byte, mode os.FileMode, path string) error {
	_, err := temporary.Write(content)
	if err == nil {
		err = temporary.Chmod(mode)
	}
	if closeErr := temporary.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return os.Rename(temporary.Name(), path)
}
