// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"errors"
	"fmt"
	"strings"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
)

// Config identifies the responder and its cluster.
type Config struct {
	// Name is required: the domain-prefixed key ("backup.example.com/database") that pods
	// have in spec.evictionResponders[].name. Names in k8s.io and kubernetes.io are
	// reserved; of these, only imperative-eviction.k8s.io/evictor is allowed.
	Name string
	// RESTConfig is required: the connection to the API server.
	RESTConfig *rest.Config
	// Namespace is the namespace of the watched Evictions. Empty: all.
	Namespace string
	// MaxRuns limits the number of simultaneous runs. 0: no limit. Further Evictions wait,
	// the oldest first, and without a heartbeat, because no work is in progress for them:
	// after 20 minutes Kubernetes activates the next responder.
	MaxRuns int
	// Clock is for tests. Nil: the real clock. Its times are written into Evictions: the
	// API server rejects times that differ by more than 30 s from its own.
	Clock clock.Clock
}

// Validate reports all errors, each with the name of its field.
func (c *Config) Validate() error {
	var errs []error
	add := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	switch wrong := content.IsPrefixedLabelKey(c.Name); {
	case c.Name == "":
		add("Name", "is required")
	case len(wrong) > 0:
		add("Name", "%q must be a domain-prefixed key (as acme.io/foo): %s", c.Name, strings.Join(wrong, "; "))
	case isReserved(c.Name):
		add("Name", "%q is in a domain that is reserved for Kubernetes: use your own domain", c.Name)
	}
	if c.RESTConfig == nil {
		add("RESTConfig", "is required")
	}
	if c.Namespace != "" {
		for _, wrong := range content.IsDNS1123Label(c.Namespace) {
			add("Namespace", "%q %s", c.Namespace, wrong)
		}
	}
	if c.MaxRuns < 0 {
		add("MaxRuns", "%d must not be negative", c.MaxRuns)
	}
	return errors.Join(errs...)
}

func isReserved(name string) bool {
	if name == evictionv1alpha1.EvictionResponderImperativeEviction {
		return false
	}
	domain, _, _ := strings.Cut(name, "/")
	for _, reserved := range []string{"k8s.io", "kubernetes.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			return true
		}
	}
	return false
}

// withDefaults returns the config with its optional fields set.
func (c Config) withDefaults() Config {
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}
