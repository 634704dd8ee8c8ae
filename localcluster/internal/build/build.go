// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

const privateDir = 0o700

// Built is a control plane that can be started.
type Built struct {
	// Binaries is the directory with one program per component.
	Binaries string `json:"binaries"`
	// Kubectl is the one for people.
	Kubectl string `json:"kubectl"`
	// Stages are the files for kwok.
	Stages []string `json:"stages"`
	// Version is that of Kubernetes.
	Version string `json:"version"`
}

// DefaultCache is the cache directory if none is given: that of the
// environment, or one in the user's own cache directory.
func DefaultCache() (string, error) {
	if dir := os.Getenv("SLIPWAY_LOCALCLUSTER_CACHE"); dir != "" {
		return dir, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a cache directory (name one with --cache): %w", err)
	}
	return filepath.Join(dir, "slipway-localcluster"), nil
}

// Ensure returns the control plane that is built from source, and builds it
// first unless the cache has it. Of several at the same time, one builds and
// the others wait for it.
func Ensure(ctx context.Context, cache string, source fs.FS, report *progress.Reporter) (*Built, error) {
	entry, err := ensure(ctx, cache, source, controlPlane, report)
	if err != nil {
		return nil, err
	}
	stages, err := entry.stageFiles()
	if err != nil {
		return nil, err
	}
	return &Built{
		Binaries: entry.binaries(), Kubectl: filepath.Join(entry.binaries(), "kubectl"), Stages: stages, Version: entry.version,
	}, nil
}

func ensure(ctx context.Context, cache string, source fs.FS, made product, report *progress.Reporter) (*entry, error) {
	entry, err := newEntry(cache, source, made)
	if err != nil {
		return nil, err
	}
	if entry.check() == nil {
		return entry, nil
	}
	if err := os.MkdirAll(entry.dir, privateDir); err != nil {
		return nil, fmt.Errorf("make the cache directory: %w", err)
	}
	unlock, err := lock(ctx, entry.dir, made, report)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if entry.check() == nil { // somebody else has built it meanwhile
		return entry, nil
	}
	if err := entry.compile(ctx, source, report); err != nil {
		return nil, fmt.Errorf("build %s: %w", made.name, err)
	}
	return entry, entry.check()
}

// entry is one product in the cache.
type entry struct {
	product      product
	dir, version string
}

func newEntry(cache string, source fs.FS, made product) (*entry, error) {
	key, err := Key(source)
	if err != nil {
		return nil, err
	}
	version, err := KubernetesVersion(source)
	if err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("find the cache directory %s: %w", cache, err)
	}
	return &entry{product: made, dir: filepath.Join(absolute, key), version: version}, nil
}

func (e *entry) source() string   { return filepath.Join(e.dir, "src") }
func (e *entry) binaries() string { return filepath.Join(e.dir, "bin") }
func (e *entry) stages() string   { return filepath.Join(e.dir, "stages") }

var errIncomplete = errors.New("the cache does not have it")

// check returns nil if everything is there. Links are made last, so where they are,
// everything is.
func (e *entry) check() error {
	for _, name := range e.product.files() {
		if _, err := os.Stat(filepath.Join(e.binaries(), name)); err != nil {
			return errors.Join(errIncomplete, err)
		}
	}
	if !e.product.stages {
		return nil
	}
	_, err := e.stageFiles()
	return err
}

func (e *entry) stageFiles() ([]string, error) {
	stages, err := filepath.Glob(filepath.Join(e.stages(), "*.yaml"))
	if err != nil || len(stages) == 0 {
		return nil, errors.Join(errIncomplete, err)
	}
	slices.Sort(stages)
	return stages, nil
}
