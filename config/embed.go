// SPDX-License-Identifier: Apache-2.0

// Package config is what is installed on a cluster, for kubectl slipway install: the
// manifests of this folder, as they stand here.
package config

import "embed"

// Files are the plain manifests, and what differs between the homes of the API.
//
//go:embed install.yaml install-central.yaml install-evictions.yaml install-host.yaml install-jobs.yaml install-leases.yaml install-reduced.yaml crd transitions
var Files embed.FS
