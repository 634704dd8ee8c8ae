// SPDX-License-Identifier: Apache-2.0

package build

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/slipway-k8s/slipway/localcluster"
	"github.com/slipway-k8s/slipway/localcluster/internal/files"
	"github.com/slipway-k8s/slipway/localcluster/internal/progress"
)

// Product is built from one source and kept in one entry of the cache.
type Product struct {
	// name is the displayed name.
	name     string
	source   fs.FS
	programs []program
	// links are more names for the first program.
	links []string
	// stages means that kwok's files belong to it.
	stages bool
	// version is the version of Kubernetes, for a source without a go.mod. Empty: the source requires it.
	version string
}

// program is one binary of the package cmd/NAME.
type program struct {
	name string
	// static means that it needs no file beside it, so it can be alone in an image.
	static bool
}

var (
	// ControlPlane is all components in one binary.
	ControlPlane = Product{
		name: "the control plane", source: localcluster.ControlPlane,
		programs: []program{{name: "controlplane"}},
		links:    []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl", "kwok"},
		stages:   true,
	}
	// Node has the programs of a real node that no package of the system has: kubelet and pause.
	Node = Product{
		name: "the kubelet", source: localcluster.Node,
		programs: []program{{name: "pause", static: true}, {name: "kubelet"}},
	}
)

// kubernetes is the part of the control plane that another version of Kubernetes has.
func kubernetes(version string) Product {
	return Product{
		name: "the control plane", source: localcluster.Kubernetes, version: version,
		programs: []program{{name: "controlplane"}},
		links:    []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubectl"},
	}
}

// Newest is the version of Kubernetes that go.mod requires.
func Newest() string {
	version, err := KubernetesVersion(localcluster.ControlPlane)
	if err != nil {
		panic(err) // the source is part of this program
	}
	return version
}

// Built is a product that can be started.
type Built struct {
	// Binaries is the directory of the programs.
	Binaries string
	// Stages are the files for kwok.
	Stages []string
	// Version is the version of Kubernetes.
	Version string
}

// Program is the path of the program of that name.
func (b *Built) Program(name string) string { return filepath.Join(b.Binaries, name) }

// DefaultCache is the default of --cache: the directory in the environment, or one in the user's own cache directory.
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

// fromGoMod are the components that all versions of Kubernetes use as go.mod requires them.
var fromGoMod = []string{"etcd", "kwok"}

// EnsureControlPlane returns the control plane of a version of Kubernetes, such as v1.35.4. Empty: the version of go.mod.
func EnsureControlPlane(ctx context.Context, cache, version string, report *progress.Reporter) (*Built, error) {
	if version != "" && !semver.IsValid(version) {
		return nil, fmt.Errorf("--kubernetes=%s: %w", version, errVersion)
	}
	newest, err := Ensure(ctx, cache, ControlPlane, report)
	if err != nil || version == "" || version == newest.Version {
		return newest, err
	}
	built, err := Ensure(ctx, cache, kubernetes(version), report)
	if err != nil {
		return nil, err
	}
	for _, name := range fromGoMod {
		link := built.Program(name)
		if err := os.Symlink(newest.Program(name), link); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("link %s: %w", name, err)
		}
	}
	built.Stages = newest.Stages
	return built, nil
}

var errVersion = errors.New("not a version of Kubernetes, such as v1.35.4")

// Ensure returns the product, and builds it first unless the cache has it. If several processes call it at the same
// time, one builds and the rest wait for it.
func Ensure(ctx context.Context, cache string, product Product, report *progress.Reporter) (*Built, error) {
	made, err := newEntry(cache, product)
	if err != nil {
		return nil, err
	}
	if made.isComplete() {
		return made.built()
	}
	if err := os.MkdirAll(made.dir, files.PrivateDir); err != nil {
		return nil, fmt.Errorf("make the cache directory: %w", err)
	}
	unlock, err := files.Lock(ctx, made.dir, report)
	if err != nil {
		return nil, fmt.Errorf("wait for another process that builds %s: %w", product.name, err)
	}
	defer unlock()
	if !made.isComplete() { // another process may have built it meanwhile
		if err := made.compile(ctx, report); err != nil {
			return nil, fmt.Errorf("build %s: %w", product.name, err)
		}
	}
	return made.built()
}

// entry is one product in the cache.
type entry struct {
	product      Product
	dir, version string
}

func newEntry(cache string, product Product) (*entry, error) {
	key, err := Key(product.source)
	if err != nil {
		return nil, err
	}
	version := product.version
	if version != "" {
		key += "-" + version
	} else if version, err = KubernetesVersion(product.source); err != nil {
		return nil, err
	}
	absolute, err := filepath.Abs(cache)
	if err != nil {
		return nil, fmt.Errorf("find the cache directory %s: %w", cache, err)
	}
	return &entry{product: product, dir: filepath.Join(absolute, key), version: version}, nil
}

func (e *entry) source() string   { return filepath.Join(e.dir, "src") }
func (e *entry) binaries() string { return filepath.Join(e.dir, "bin") }
func (e *entry) stages() string   { return filepath.Join(e.dir, "stages") }
func (e *entry) complete() string { return filepath.Join(e.dir, "complete") }

func (e *entry) isComplete() bool {
	_, err := os.Stat(e.complete())
	return err == nil
}

func (e *entry) built() (*Built, error) {
	stages, err := filepath.Glob(filepath.Join(e.stages(), "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("look for kwok's stages: %w", err)
	}
	slices.Sort(stages)
	return &Built{Binaries: e.binaries(), Stages: stages, Version: e.version}, nil
}

// recipe is part of the key: it changes when the way of building does.
const recipe = "3: complete"

// Key identifies the binary that is built from this source on this kind of machine.
func Key(source fs.FS) (string, error) {
	sum := sha256.New()
	fmt.Fprintln(sum, recipe, runtime.GOOS, runtime.GOARCH)
	err := fs.WalkDir(source, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		// With the length, no two sets of files look the same in a row.
		fmt.Fprintln(sum, path, len(content))
		_, err = sum.Write(content)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("hash the source of the control plane: %w", err)
	}
	const length = 16
	return hex.EncodeToString(sum.Sum(nil))[:length], nil
}

var errNoVersion = errors.New("go.mod does not require k8s.io/kubernetes")

// KubernetesVersion reads the version of Kubernetes from go.mod.
func KubernetesVersion(source fs.FS) (string, error) {
	content, err := fs.ReadFile(source, "go.mod")
	if err != nil {
		return "", fmt.Errorf("read the version of Kubernetes: %w", err)
	}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(strings.TrimPrefix(strings.TrimSpace(line), "require "))
		if len(fields) >= 2 && fields[0] == "k8s.io/kubernetes" {
			return fields[1], nil
		}
	}
	return "", errNoVersion
}
