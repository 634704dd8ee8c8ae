// SPDX-License-Identifier: Apache-2.0

package main

import (
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func serveRegistry(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://")
}

func TestWhatIsPushedIsWhatWasBuilt(t *testing.T) {
	out := t.TempDir()
	want := mustBuild(t, tiny("testdata/tiny"), out)
	to := serveRegistry(t) + "/slipway:1.2.3"
	got, err := push(t.Context(), out, to)
	if err != nil {
		t.Fatal(err)
	}
	tag, err := name.NewTag(to)
	if err != nil {
		t.Fatal(err)
	}
	index, err := remote.Index(tag)
	if err != nil {
		t.Fatal(err)
	}
	pulled, err := index.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if got != want || pulled != want {
		t.Errorf("built %s, pushed %s, pulled %s", want, got, pulled)
	}
	if err := validate.Index(index); err != nil {
		t.Errorf("what was pulled is damaged: %v", err)
	}
}

func TestADamagedLayoutIsNotPushed(t *testing.T) {
	out := buildTiny(t)
	blobs, err := filepath.Glob(filepath.Join(layoutDir(out), "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range blobs {
		if info, err := os.Stat(blob); err == nil && info.Size() > 100_000 {
			if err := os.Truncate(blob, info.Size()-1); err != nil {
				t.Fatal(err)
			}
			break
		}
	}
	if digest, err := push(t.Context(), out, serveRegistry(t)+"/slipway:1.2.3"); err == nil {
		t.Errorf("%s was pushed", digest)
	}
}
