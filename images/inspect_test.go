// SPDX-License-Identifier: Apache-2.0

package main

import (
	"archive/tar"
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/go-cmp/cmp"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

// inspect looks at what was built as whoever pulls it would: nothing that build knows is
// asked, but which programs are wanted.
func inspect(t *testing.T, out string, programs ...string) {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(layoutDir(out))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Errorf("the layout is damaged: %v", err)
	}
	for arch, img := range images(t, out) {
		inspectConfig(t, img, arch, programs)
		root := t.TempDir()
		if diff := cmp.Diff(programs, unpack(t, img, root)); diff != "" {
			t.Errorf("%s: files in the image (-want +got):\n%s", arch, diff)
		}
		for _, program := range programs {
			inspectProgram(t, filepath.Join(root, program), arch)
		}
		inspectSBOM(t, out, img, arch, root, programs)
	}
}

// images are those of the index, by their architecture.
func images(t *testing.T, out string) map[string]v1.Image {
	t.Helper()
	index, err := built(out)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	byArch := map[string]v1.Image{}
	for _, m := range manifest.Manifests {
		if m.ArtifactType != "" {
			t.Errorf("the image for %s is called an artifact of type %s", m.Platform.Architecture, m.ArtifactType)
		}
		if byArch[m.Platform.Architecture], err = index.Image(m.Digest); err != nil {
			t.Fatal(err)
		}
	}
	if len(byArch) != 2 || byArch["amd64"] == nil || byArch["arm64"] == nil {
		t.Fatalf("the index has not amd64 and arm64 in it: %v", byArch)
	}
	return byArch
}

func inspectConfig(t *testing.T, img v1.Image, arch string, programs []string) {
	t.Helper()
	config, err := img.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	got := []string{config.OS, config.Architecture, config.Config.User, strings.Join(config.Config.Entrypoint, " ")}
	if diff := cmp.Diff([]string{"linux", arch, "65532:65532", "/" + programs[0]}, got); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
	for _, key := range []string{"version", "revision", "created", "source", "licenses"} {
		if config.Config.Labels["org.opencontainers.image."+key] == "" {
			t.Errorf("%s: the image does not tell its %s", arch, key)
		}
	}
}

// unpack writes the files of an image into a directory, and returns their names in order.
// That they are root's, and that nobody may write them, is looked at on the way.
func unpack(t *testing.T, img v1.Image, into string) []string {
	t.Helper()
	layers, err := img.Layers()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, layer := range layers {
		content, err := layer.Uncompressed()
		if err != nil {
			t.Fatal(err)
		}
		defer content.Close()
		for r := tar.NewReader(content); ; {
			h, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if h.Typeflag != tar.TypeReg || h.Uid != 0 || h.Gid != 0 || h.Mode != 0o555 || h.Uname != "" || h.ModTime.Unix() != 0 {
				t.Errorf("%s is no plain file of root that nobody may write: %+v", h.Name, h)
			}
			names = append(names, h.Name)
			file, err := os.OpenFile(filepath.Join(into, filepath.Base(h.Name)), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o555)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.Copy(file, r); err != nil {
				t.Fatal(err)
			}
			if err := file.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	return names
}

// inspectProgram looks whether it is static, for its architecture, and tells nothing of where
// it was built.
func inspectProgram(t *testing.T, path, arch string) {
	t.Helper()
	file, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[arch]; file.Machine != want {
		t.Errorf("%s: %s is for %v", arch, filepath.Base(path), file.Machine)
	}
	for _, p := range file.Progs {
		if p.Type == elf.PT_INTERP {
			t.Errorf("%s: %s needs a dynamic linker", arch, filepath.Base(path))
		}
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(content), filepath.Dir(here)) {
		t.Errorf("%s: %s tells that it was built in %s", arch, filepath.Base(path), filepath.Dir(here))
	}
}

// inspectSBOM compares the list with the build info of the programs, each of them.
func inspectSBOM(t *testing.T, out string, img v1.Image, arch, root string, programs []string) {
	t.Helper()
	file, err := os.Open(sbomFile(out, arch))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	bom := new(cdx.BOM)
	if err := cdx.NewBOMDecoder(file, cdx.BOMFileFormatJSON).Decode(bom); err != nil {
		t.Fatal(err)
	}
	digest, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(bom.Metadata.Component.PackageURL, digest.Hex) {
		t.Errorf("%s: the list is about %s, the image is %s", arch, bom.Metadata.Component.PackageURL, digest)
	}
	want, got := map[string]bool{}, map[string]bool{}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(filepath.Join(root, program))
		if err != nil {
			t.Fatal(err)
		}
		want[program+" "+bom.Metadata.Component.Version] = true
		want["stdlib "+strings.TrimPrefix(info.GoVersion, "go")] = true
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			want[module.Path+" "+module.Version] = true
		}
	}
	for _, c := range *bom.Components {
		got[c.Name+" "+c.Version] = true
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: what is listed (-in the programs +in the list):\n%s", arch, diff)
	}
	t.Logf("%s: %d modules and programs are listed", arch, len(got))
}
