// SPDX-License-Identifier: Apache-2.0

package driverkit

import (
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"regexp"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// The directories of a Slipway agent. A kubelet that supports SLM has other directories.
const (
	DefaultDataDir         = "/var/lib/slipway/plugins"
	DefaultRegistrationDir = "/var/lib/slipway/plugins_registry"
)

// Config identifies the driver and its agent.
type Config struct {
	// DriverName is required: the name that transitions have in spec.driver. It may have
	// one slash ("example.com/reboot").
	DriverName string
	// NodeName is required, unless AnyNode is set: the node of the driver. The kit rejects
	// calls for another node.
	NodeName string
	// AnyNode is for a driver that serves all nodes in one process, and registers with
	// Slipway's controller. NodeName is then empty, and the kit rejects calls without a node.
	AnyNode bool

	// DataDir contains a directory for each driver, with the driver's socket. The kit
	// creates both with mode 0700 if absent.
	DataDir string
	// RegistrationDir is the directory that the agent watches for drivers. The kit creates
	// it with mode 0700 if absent.
	RegistrationDir string
	// Listener serves a driver that runs in the process of its agent: the kit creates no sockets, and ignores DataDir,
	// RegistrationDir and Instance. The agent must know the driver by other means. The kit closes the Listener.
	Listener net.Listener
	// Instance lets two processes of one driver run side by side during an update of the
	// driver. Each process has its own Instance (the UID of its pod), which is part of the
	// names of its sockets. The agent calls the newest process, and does not notify the
	// other: both may work on one event until the older one ends. Without Instance, a
	// second process fails to start while the first one runs.
	Instance string

	// Transitions are published if they are absent. The kit updates a transition that the kit
	// has published before, and does not change a transition of an administrator. If one
	// belongs to another driver, Serve fails with [ErrForeignTransition]. An empty spec.driver
	// means DriverName.
	Transitions []lifecyclev1alpha1.LifecycleTransition
	// RESTConfig is for publishing Transitions. Nil: the kit publishes none.
	RESTConfig *rest.Config

	// Clock is for tests. Nil: the real clock.
	Clock clock.WithTicker
}

var (
	// driverNamePattern equals the CRD's validation of spec.driver.
	driverNamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9._-]*[a-z0-9])?(/[a-z0-9]([a-z0-9._-]*[a-z0-9])?)?$`)
	instancePattern   = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$`)
)

const (
	maxDriverName = 253
	maxInstance   = 63
)

// Validate reports all errors, each with the name of its field.
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
		add("DriverName", "%q must be lower case letters, digits, '-', '_' and '.', with at most one '/' inside", c.DriverName)
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
	seen := map[string]bool{}
	for i, transition := range c.Transitions {
		field := fmt.Sprintf("Transitions[%d].", i)
		switch {
		case transition.Name == "":
			add(field+"metadata.name", "is required")
		case seen[transition.Name]:
			add(field+"metadata.name", "%q is a duplicate", transition.Name)
		}
		seen[transition.Name] = true
		if driver := transition.Spec.Driver; driver != "" && driver != c.DriverName {
			add(field+"spec.driver", "%q must be empty or DriverName, %q", driver, c.DriverName)
		}
	}
	return errors.Join(errs...)
}

// withDefaults returns the config with its optional fields set.
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
