// SPDX-License-Identifier: Apache-2.0

package image

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// read returns the files of an archive.
func read(t *testing.T, archive []byte) map[string][]byte {
	t.Helper()
	files := map[string][]byte{}
	for reader := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		if files[header.Name], err = io.ReadAll(reader); err != nil {
			t.Fatal(err)
		}
	}
}

func TestAnImageIsOfItsProgram(t *testing.T) {
	program := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(program, []byte("machine code"), 0o600); err != nil {
		t.Fatal(err)
	}
	var first, second bytes.Buffer
	for _, out := range []*bytes.Buffer{&first, &second} {
		if err := WriteProgram(out, program, "local.test/p:1"); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(first.Bytes(), second.Bytes()) {
		t.Error("the same program gives two images")
	}
	files := read(t, first.Bytes())
	var manifest []manifestEntry
	if err := json.Unmarshal(files["manifest.json"], &manifest); err != nil || len(manifest) != 1 {
		t.Fatalf("manifest %s: %v", files["manifest.json"], err)
	}
	if manifest[0].RepoTags[0] != "local.test/p:1" {
		t.Errorf("the image is called %v", manifest[0].RepoTags)
	}
	layer := files[manifest[0].Layers[0]]
	var got config
	if err := json.Unmarshal(files[manifest[0].Config], &got); err != nil {
		t.Fatal(err)
	}
	// A runtime refuses a layer that is not the one that the configuration names.
	if want := fmt.Sprintf("sha256:%x", sha256.Sum256(layer)); got.RootFS.DiffIDs[0] != want {
		t.Errorf("the layer is %s, and the configuration says %v", want, got.RootFS.DiffIDs)
	}
	inside := read(t, layer)
	if string(inside[got.Config.Entrypoint[0][1:]]) != "machine code" {
		t.Errorf("the layer has %v, not the program at %v", inside, got.Config.Entrypoint)
	}
}

func TestAnImageOfNothingIsRefused(t *testing.T) {
	if err := WriteProgram(io.Discard, filepath.Join(t.TempDir(), "absent"), "x:1"); err == nil {
		t.Error("no error")
	}
}
