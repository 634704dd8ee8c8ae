// SPDX-License-Identifier: Apache-2.0

package release

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/version"
)

// What servers need to have, by their versions.
var (
	oldest      = version.MustParseGeneric("1.34.0")
	impersonate = version.MustParseGeneric("1.36.0") // constrained impersonation, and policies that mutate
)

// Server is what the API server has for us.
type Server struct {
	Version string
	// Mutates: MutatingAdmissionPolicies.
	Mutates bool
}

// ServerOf is what a server of the given version has.
func ServerOf(text string) (Server, error) {
	v, err := version.ParseGeneric(text)
	if err != nil {
		return Server{}, fmt.Errorf("read the API server's version: %w", err)
	}
	return Server{Version: text, Mutates: v.AtLeast(impersonate)}, nil
}

// Refuse says why the choice does not work on the server, and what does.
func (s Server) Refuse(choice Choice) error {
	mode, reduced := choice.Mode, choice.Reduced
	v, err := version.ParseGeneric(s.Version)
	if err != nil {
		return fmt.Errorf("read the API server's version: %w", err)
	}
	switch {
	case v.LessThan(oldest):
		return fmt.Errorf("the server is Kubernetes %s; Slipway needs 1.34 or newer", s.Version)
	case choice.Host && reduced:
		return fmt.Errorf("--host needs constrained impersonation, which --reduced is about to do without: leave one of the two out")
	case choice.Host && v.LessThan(impersonate):
		return fmt.Errorf("--host needs Kubernetes 1.36 or newer: slipway-host acts as its node; the server is %s", s.Version)
	case mode == Central && reduced:
		return fmt.Errorf("--reduced is about the rights of agents, and --mode=central has none: leave one of the two out")
	case mode == Node && !reduced && v.LessThan(impersonate):
		return fmt.Errorf("the server is Kubernetes %s; agents that can only do to their own node what its kubelet may need 1.36. "+
			"Choose one of two weaker variants: --mode=central (the controller's token can evict all pods) "+
			"or --reduced (that of each agent can); docs/security.md", s.Version)
	default:
		return nil
	}
}
