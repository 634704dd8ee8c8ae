// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// architectures that images are for.
var architectures = []string{"amd64", "arm64"}

// layoutDir returns the directory of the layout, sbomFile the path of the list of modules in the image for arch.
func layoutDir(out string) string { return filepath.Join(out, "image") }

func sbomFile(out, arch string) string { return filepath.Join(out, "slipway-linux-"+arch+".cdx.json") }

// build makes the image for all platforms, with a list of modules for each, and returns the
// digest of the index.
func build(ctx context.Context, r release, out string) (v1.Hash, error) {
	binaries, err := os.MkdirTemp("", "slipway-image-")
	if err != nil {
		return v1.Hash{}, err
	}
	defer os.RemoveAll(binaries)                    //nolint:errcheck // a directory of temporary files
	if err := os.MkdirAll(out, 0o755); err != nil { //nolint:gosec // all users may read it
		return v1.Hash{}, err
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, arch := range architectures {
		dir := filepath.Join(binaries, arch)
		if err := compile(ctx, r, arch, dir); err != nil {
			return v1.Hash{}, err
		}
		img, err := image(r, arch, dir)
		if err != nil {
			return v1.Hash{}, fmt.Errorf("image for %s: %w", arch, err)
		}
		if err := writeSBOM(r, img, arch, dir, sbomFile(out, arch)); err != nil {
			return v1.Hash{}, fmt.Errorf("list the modules for %s: %w", arch, err)
		}
		config, err := img.ConfigFile()
		if err != nil {
			return v1.Hash{}, err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{
			Add: ordinary{img}, Descriptor: v1.Descriptor{Platform: config.Platform()},
		})
	}
	index = mutate.Annotations(index, r.annotations()).(v1.ImageIndex)
	if err := writeLayout(r, index, layoutDir(out)); err != nil {
		return v1.Hash{}, fmt.Errorf("write the layout: %w", err)
	}
	return index.Digest()
}

// ordinary is an image that is no artifact: the library gives each the artifact type of its config, which the
// specification reserves for artifacts that do not run.
type ordinary struct{ v1.Image }

// ArtifactType is none.
func (ordinary) ArtifactType() (string, error) { return "", nil }

// writeLayout writes the index into an empty layout, without leftovers of an older build, under the name that tools
// look for.
func writeLayout(r release, index v1.ImageIndex, dir string) error {
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	return path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version,
	}))
}
