// SPDX-License-Identifier: Apache-2.0

// Package v1alpha1 is the gRPC contract between an agent and the lifecycle drivers
// of its node: driver.proto and what is generated from it.
package v1alpha1

// PluginType is the type that a lifecycle driver registers with (KEP-5683).
const PluginType = "SLMPlugin"

// ServiceName is the version string that a lifecycle driver lists among its
// supported versions.
const ServiceName = "v1alpha1.SLMPlugin"
