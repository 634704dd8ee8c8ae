// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"time"

	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
)

// BuiltinDrain is the drain driver, as a value of --builtin-drivers.
const BuiltinDrain = "drain"

// Options are the settings of a controller process.
type Options struct {
	// Builtin are the drivers that run in this process: BuiltinDrain, or none.
	Builtin []string
	// RegistrationDir is the directory in which third-party central drivers register. Empty: there are none.
	RegistrationDir string
	// Namespace is Slipway's own namespace, with the agents' pods and the Lease of the leader.
	Namespace string
	// LeaderElect elects a leader among several processes. If it is false, run only one process.
	LeaderElect bool
	// EvictionRequests: the process is also the evictionrequest-controller, and runs Slipway's
	// responders.
	EvictionRequests bool
	// EvictionController is false where Kubernetes' own controllers merge EvictionRequests into Evictions, and evict last.
	EvictionController bool
	// NodeLeases: the process acquires the lease of a node before Slipway cordons it, and holds
	// it until the node has returned to service.
	NodeLeases bool
	// MaintenanceJobs: the process creates Jobs for maintenances, in [maintenance.JobNamespace].
	MaintenanceJobs bool
	// Drains are the settings of the built-in drain driver.
	Drains draindriver.Settings
	// StrictGuards also holds events of the only Node of a cluster.
	StrictGuards bool
	// Surge is the scope of the surge responder, with EvictionRequests.
	Surge surgecontroller.Scope
	// FinishedEventTTL is the time for which the controller keeps ended events.
	FinishedEventTTL time.Duration
	// HealthAddress serves /healthz and /readyz; MetricsAddress serves /metrics. "0" disables
	// one.
	HealthAddress, MetricsAddress string
}

// Validate reports all errors, with the names of the flags.
func (o Options) Validate() error {
	var errs []error
	for _, name := range o.Builtin {
		if name != BuiltinDrain {
			errs = append(errs, fmt.Errorf("--builtin-drivers: unknown driver %q; known: %s", name, BuiltinDrain))
		}
	}
	if o.Namespace == "" {
		errs = append(errs, errors.New("--namespace must not be empty"))
	}
	switch o.Surge {
	case surgecontroller.Off, surgecontroller.Labelled, surgecontroller.Blocked:
	default:
		errs = append(errs, fmt.Errorf("--surge %q must be %s, %s or %s", o.Surge, surgecontroller.Off, surgecontroller.Labelled, surgecontroller.Blocked))
	}
	if o.FinishedEventTTL < 0 {
		errs = append(errs, fmt.Errorf("--finished-event-ttl %s must not be negative", o.FinishedEventTTL))
	}
	return errors.Join(append(errs, o.Drains.Validate())...)
}

// centralDrivers returns whether drivers can register with the controller.
func (o Options) centralDrivers() bool { return len(o.Builtin) > 0 || o.RegistrationDir != "" }
