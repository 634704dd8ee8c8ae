// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// layer is a layer that has one file, at the root. Root owns it, so that the process that runs it cannot write it. It
// has a constant time: an unchanged program is the same layer again, and no node pulls it twice.
func layer(path string) (v1.Layer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	header := &tar.Header{
		Typeflag: tar.TypeReg,
		Format:   tar.FormatUSTAR,
		Name:     filepath.Base(path),
		Size:     int64(len(content)),
		Mode:     0o555,
		ModTime:  time.Unix(0, 0),
	}
	if err := w.WriteHeader(header); err != nil {
		return nil, fmt.Errorf("archive %s: %w", path, err)
	}
	if _, err := w.Write(content); err != nil {
		return nil, fmt.Errorf("archive %s: %w", path, err)
	}
	if err := w.Close(); err != nil {
		return nil, fmt.Errorf("archive %s: %w", path, err)
	}
	return tarball.LayerFromOpener(
		func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(archive.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer),
		tarball.WithCompressionLevel(gzip.BestCompression), // once here, and many times there
		tarball.WithCompressedCaching,
	)
}
