// SPDX-License-Identifier: Apache-2.0

package state

import (
	"maps"
	"slices"
)

// Config is what a cluster is asked to be.
type Config struct {
	// Nodes simulated nodes are called NodeNamePrefix and a number from 1 on.
	Nodes          int    `json:"nodes"`
	NodeNamePrefix string `json:"nodeNamePrefix"`
	// NodeCapacity is what each of them offers: quantities by resource name.
	NodeCapacity map[string]string `json:"nodeCapacity"`
	// FeatureGates go to every component of Kubernetes.
	FeatureGates map[string]string `json:"featureGates,omitempty"`
	// RuntimeConfig switches API groups and versions on and off.
	RuntimeConfig map[string]string `json:"runtimeConfig,omitempty"`
	// ExtraArgs are more "flag=value" arguments by component. They come last and
	// so win over the launcher's own.
	ExtraArgs map[string][]string `json:"extraArgs,omitempty"`
	// AuditPolicy is the content of a policy file, empty for the built-in one.
	AuditPolicy string `json:"auditPolicy,omitempty"`
}

// SameControlPlane reports whether both configurations start the same control
// plane. Nodes do not count: a running cluster can be given more.
func (c Config) SameControlPlane(other Config) bool {
	return maps.Equal(c.FeatureGates, other.FeatureGates) &&
		maps.Equal(c.RuntimeConfig, other.RuntimeConfig) &&
		maps.EqualFunc(c.ExtraArgs, other.ExtraArgs, slices.Equal) &&
		c.AuditPolicy == other.AuditPolicy
}
