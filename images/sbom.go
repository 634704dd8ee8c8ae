// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/uuid"
)

// writeSBOM lists the contents of an image: its programs, and the modules that the compiler wrote into each of them.
// It leaves out modules of go.mod that no program contains: scanners would warn of absent code.
func writeSBOM(r release, img v1.Image, arch, binaries, to string) error {
	digest, err := img.Digest()
	if err != nil {
		return err
	}
	bom := newBOM(r, arch, digest)
	for _, program := range r.programs {
		path := filepath.Join(binaries, program)
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		info, err := buildinfo.ReadFile(path)
		if err != nil {
			return err
		}
		addProgram(bom, r, program, sha256.Sum256(content), info)
	}
	slices.SortFunc(*bom.Components, func(a, b cdx.Component) int { return strings.Compare(a.BOMRef, b.BOMRef) })
	file, err := os.Create(to)
	if err != nil {
		return err
	}
	encoder := cdx.NewBOMEncoder(file, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false)
	if err := encoder.EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return fmt.Errorf("write %s: %w", to, err)
	}
	return file.Close()
}

// newBOM is a document about one image. Its serial number comes from the digest: the same
// image has the same document.
func newBOM(r release, arch string, digest v1.Hash) *cdx.BOM {
	bom := cdx.NewBOM()
	bom.SerialNumber = uuid.NewSHA1(uuid.NameSpaceURL, []byte(digest.String())).URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: r.created.Format(time.RFC3339),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeContainer, Name: "slipway", Version: r.version, BOMRef: "image",
			PackageURL: "pkg:oci/slipway@" + strings.Replace(digest.String(), ":", "%3A", 1) + "?arch=" + arch,
		},
	}
	bom.Components = &[]cdx.Component{}
	bom.Dependencies = &[]cdx.Dependency{{Ref: "image", Dependencies: &[]string{}}}
	return bom
}

// addProgram adds a program, and the modules that are new with it.
func addProgram(bom *cdx.BOM, r release, program string, sum [sha256.Size]byte, info *debug.BuildInfo) {
	reference := "/" + program
	refs := []string{}
	for _, module := range modules(info) {
		refs = append(refs, module.BOMRef)
		if !slices.ContainsFunc(*bom.Components, func(c cdx.Component) bool { return c.BOMRef == module.BOMRef }) {
			*bom.Components = append(*bom.Components, module)
		}
	}
	*bom.Components = append(*bom.Components, cdx.Component{
		Type: cdx.ComponentTypeApplication, BOMRef: reference, Name: program, Version: r.version,
		PackageURL: "pkg:golang/" + info.Main.Path + "@v" + r.version + "#cmd/" + program,
		Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
	})
	ofImage := (*bom.Dependencies)[0].Dependencies
	*ofImage = append(*ofImage, reference)
	*bom.Dependencies = append(*bom.Dependencies, cdx.Dependency{Ref: reference, Dependencies: &refs})
}

// modules lists the modules in a program. Go's own library is one of them: most warnings are about it.
func modules(info *debug.BuildInfo) []cdx.Component {
	list := []cdx.Component{library("stdlib", strings.TrimPrefix(info.GoVersion, "go"), "")}
	for _, module := range info.Deps {
		if module.Replace != nil {
			module = module.Replace
		}
		list = append(list, library(module.Path, module.Version, module.Sum))
	}
	return list
}

func library(path, version, sum string) cdx.Component {
	purl := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	c := cdx.Component{
		Type: cdx.ComponentTypeLibrary, Scope: cdx.ScopeRequired,
		BOMRef: purl, Name: path, Version: version, PackageURL: purl,
	}
	if sum != "" {
		// As in go.sum. It is the hash of a list of hashes, so it is none of CycloneDX's.
		c.Properties = &[]cdx.Property{{Name: "go.sum", Value: sum}}
	}
	return c
}
