// SPDX-License-Identifier: Apache-2.0

// Package image makes an image of one static program, as an archive that container
// runtimes read: for machines on which no registry can be reached.
package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
)

// WriteProgram writes the image of the static program in file, under this name
// (registry/name:tag), as `docker save` does. In the image, the program is in the root,
// called as the file is. The same program gives the same bytes.
func WriteProgram(out io.Writer, file, name string) error {
	program, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read the program of image %s: %w", name, err)
	}
	base := filepath.Base(file)
	layer, err := makeLayer(base, program)
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	config, err := json.Marshal(newConfig("/"+base, layer))
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	const layerName, configName = "layer.tar", "config.json"
	manifest, err := json.Marshal([]manifestEntry{{Config: configName, RepoTags: []string{name}, Layers: []string{layerName}}})
	if err != nil {
		return fmt.Errorf("make image %s: %w", name, err)
	}
	archive := tar.NewWriter(out)
	for _, file := range []tarFile{
		{configName, 0o644, config}, {layerName, 0o644, layer}, {"manifest.json", 0o644, manifest},
	} {
		if err := file.write(archive); err != nil {
			return fmt.Errorf("write image %s: %w", name, err)
		}
	}
	if err := archive.Close(); err != nil {
		return fmt.Errorf("write image %s: %w", name, err)
	}
	return nil
}

// makeLayer holds the program, and a directory for temporary files.
func makeLayer(name string, program []byte) ([]byte, error) {
	var layer bytes.Buffer
	archive := tar.NewWriter(&layer)
	if err := archive.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}); err != nil {
		return nil, err
	}
	if err := (tarFile{name, 0o755, program}).write(archive); err != nil {
		return nil, err
	}
	if err := archive.Close(); err != nil {
		return nil, err
	}
	return layer.Bytes(), nil
}

type tarFile struct {
	name    string
	mode    int64
	content []byte
}

func (f tarFile) write(archive *tar.Writer) error {
	header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Size: int64(len(f.content))}
	if err := archive.WriteHeader(header); err != nil {
		return err
	}
	_, err := archive.Write(f.content)
	return err
}

type (
	manifestEntry struct {
		Config   string   `json:"Config"`
		RepoTags []string `json:"RepoTags"`
		Layers   []string `json:"Layers"`
	}
	config struct {
		Architecture string  `json:"architecture"`
		OS           string  `json:"os"`
		Config       process `json:"config"`
		RootFS       rootFS  `json:"rootfs"`
	}
	process struct {
		Entrypoint []string `json:"Entrypoint"`
	}
	rootFS struct {
		Type    string   `json:"type"`
		DiffIDs []string `json:"diff_ids"`
	}
)

func newConfig(entrypoint string, layer []byte) config {
	sum := sha256.Sum256(layer)
	return config{
		Architecture: runtime.GOARCH, OS: "linux", Config: process{Entrypoint: []string{entrypoint}},
		RootFS: rootFS{Type: "layers", DiffIDs: []string{"sha256:" + hex.EncodeToString(sum[:])}},
	}
}
