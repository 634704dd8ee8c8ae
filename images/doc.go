// SPDX-License-Identifier: Apache-2.0

// Command images builds the image of Slipway without a container engine, and pushes it.
//
//	cmd/* ── compile ──▶ a binary for each platform ── layer, image ──▶ OCI image layout ── push ──▶ registry
//	                          └── its build info ── sbom ──▶ CycloneDX document
//
// The same commit gives the same digest, wherever and whenever it is built: an image
// does not depend on the machine, the clock or the user. The build downloads only Go modules.
//
// This package defines the contents of an image; charts/slipway defines where it runs, and its arguments.
//
// go-containerregistry, the library of crane and ko, assembles images, and CycloneDX's own library writes the lists of
// modules. Both are heavy, and no other package needs them: so this is a separate Go module. Run it with make image.
package main
