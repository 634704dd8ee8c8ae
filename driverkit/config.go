// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The directories of a Slipway agent. A kubelet that speaks SLM has others.
const (
	DefaultDataDir         = "/var/lib/slipway/plugins"
	DefaultRegistrationDir = "/var/lib/slipway/plugins_registry"
)

// Config says who the driver is and where it meets its agent.
type Config struct {
	// DriverName is required: the name that transitions refer to in spec.driver. It
	// may have one slash ("example.com/reboot").
	DriverName string
	// NodeName is required, unless AnyNode is set: the node that the driver works on.
	// Calls for another node are refused.
	NodeName string
	// AnyNode is for a driver that one process serves for all nodes, as in Slipway's
	// central mode. NodeName is then empty, and calls that name no node are refused.
	AnyNode bool

	// DataDir holds a directory of its own for each driver, with the driver's
	// socket. Both are created with mode 0700 if absent.
	DataDir string
	// RegistrationDir is the directory that the agent watches for drivers. It is
	// created with mode 0700 if absent.
	RegistrationDir string
	// Instance lets two processes of one driver run side by side while the driver is
	// being updated: each gives a name of its own (the UID of its pod), which goes
	// into the names of its sockets. The agent calls the one that came last, and does
	// not tell the other: both may work on one event until the older one is ended.
	// Without Instance, a second process fails to start while the first one runs.
	Instance string

	// Transitions are published if they are absent. An existing one is never changed;
	// if it belongs to another driver, Serve fails with [ErrForeignTransition].
	// An empty spec.driver means DriverName.
	Transitions []lifecyclev1alpha1.LifecycleTransition
	// RESTConfig is for publishing Transitions. Nil: publish nothing.
	RESTConfig *rest.Config

	// Clock is for tests. Nil: the real one.
	Clock clock.WithTicker
}

var (
	// As in the CRD's validation of spec.driver.
	driverNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(/[a-z0-9]([a-z0-9.-]*[a-z0-9])?)?$`)
	instancePattern   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

const (
	maxDriverName = 253
	maxInstance   = 63
)

// Validate reports all that is wrong, each with the name of its field.
func (c *Config) Validate() error {
	var errs []error
	add := func(field, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", field, fmt.Sprintf(format, args...)))
	}
	switch {
	case c.DriverName == "":
		add("DriverName", "is required")
	case len(c.DriverName) > maxDriverName:
		add("DriverName", "has %d characters, at most %d are allowed", len(c.DriverName), maxDriverName)
	case !driverNamePattern.MatchString(c.DriverName):
		add("DriverName", "%q must be lower case letters, digits, '-' and '.', with at most one '/' inside", c.DriverName)
	}
	switch {
	case c.NodeName == "" && !c.AnyNode:
		add("NodeName", "is required")
	case c.NodeName != "" && c.AnyNode:
		add("NodeName", "%q must be empty with AnyNode", c.NodeName)
	}
	if c.Instance != "" && (len(c.Instance) > maxInstance || !instancePattern.MatchString(c.Instance)) {
		add("Instance", "%q must be at most %d letters, digits, '-' and '.'", c.Instance, maxInstance)
	}
	if c.DataDir != "" && !filepath.IsAbs(c.DataDir) {
		add("DataDir", "%q must be an absolute path", c.DataDir)
	}
	if c.RegistrationDir != "" && !filepath.IsAbs(c.RegistrationDir) {
		add("RegistrationDir", "%q must be an absolute path", c.RegistrationDir)
	}
	return errors.Join(append(errs, c.validateTransitions()...)...)
}

func (c *Config) validateTransitions() []error {
	var errs []error
	seen := map[string]bool{}
	for i, transition := range c.Transitions {
		field := fmt.Sprintf("Transitions[%d]", i)
		switch {
		case transition.Name == "":
			errs = append(errs, fmt.Errorf("%s.metadata.name: is required", field))
		case seen[transition.Name]:
			errs = append(errs, fmt.Errorf("%s.metadata.name: %q is there twice", field, transition.Name))
		}
		seen[transition.Name] = true
		if driver := transition.Spec.Driver; driver != "" && driver != c.DriverName {
			errs = append(errs, fmt.Errorf("%s.spec.driver: %q must be empty or DriverName, %q", field, driver, c.DriverName))
		}
	}
	return errs
}

// withDefaults is the config with its optional fields filled in.
func (c Config) withDefaults() Config {
	if c.DataDir == "" {
		c.DataDir = DefaultDataDir
	}
	if c.RegistrationDir == "" {
		c.RegistrationDir = DefaultRegistrationDir
	}
	if c.Clock == nil {
		c.Clock = clock.RealClock{}
	}
	return c
}
