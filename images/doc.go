// SPDX-License-Identifier: Apache-2.0

// Command images builds the image of Slipway without a container engine, and pushes it.
//
//	cmd/* ── compile ──▶ a binary for each platform ── layer, image ──▶ OCI image layout ── push ──▶ registry
//	                          └── its build info ── sbom ──▶ CycloneDX document
//
// The same commit gives the same digest, wherever and whenever it is built: nothing of the
// machine, the clock or the user goes into an image. Nothing is downloaded but Go modules.
//
// What an image is made of is decided here; where it runs, and with which arguments, in
// charts/slipway.
//
// Images are put together by go-containerregistry, which crane and ko are made of, and the
// list of what is in them is written by CycloneDX's own library: formats of others are not
// worth writing again. Both are heavy, and nothing of Slipway needs them: this is a Go module
// of its own. Run it with make image.
package main
