// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"time"

	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
)

// ClaimMode is the claimer of the events of a cluster.
type ClaimMode string

// The claim modes.
const (
	// ClaimByNode: the agent of each node claims its events.
	ClaimByNode ClaimMode = "node"
	// ClaimCentrally: the controller claims all events.
	ClaimCentrally ClaimMode = "central"
)

// Options are the settings of a controller process.
type Options struct {
	// ClaimMode applies to the whole cluster.
	ClaimMode ClaimMode
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
	// Drains are the settings of the drain driver in central mode.
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
	// SocketDir is the parent of a new directory for the sockets of the driver in central mode.
	// Empty: the directory of temporary files.
	SocketDir string
}

// Validate reports all errors, with the names of the flags.
func (o Options) Validate() error {
	var errs []error
	if o.ClaimMode != ClaimByNode && o.ClaimMode != ClaimCentrally {
		errs = append(errs, fmt.Errorf("--claim-mode %q must be %s or %s", o.ClaimMode, ClaimByNode, ClaimCentrally))
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
