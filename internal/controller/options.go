// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"time"

	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
)

// ClaimMode says who claims the events of a cluster.
type ClaimMode string

// The claim modes.
const (
	// ClaimByNode: the agent of each node.
	ClaimByNode ClaimMode = "node"
	// ClaimCentrally: the controller.
	ClaimCentrally ClaimMode = "central"
)

// Options are the settings of a controller process.
type Options struct {
	// ClaimMode is the same for the whole cluster.
	ClaimMode ClaimMode
	// Namespace is Slipway's own: the agents' pods are in it, and the Lease.
	Namespace string
	// LeaderElect: of several processes, one works. Without it, there must be one only.
	LeaderElect bool
	// EvictionRequests: the process is the evictionrequest-controller as well, and has the
	// responders that Slipway brings.
	EvictionRequests bool
	// NodeLeases: the process takes the lease of each node that Slipway works on, before it
	// is cordoned, and holds it until the node has returned.
	NodeLeases bool
	// StrictGuards holds events of the only Node of a cluster, too.
	StrictGuards bool
	// Surge says for which workloads the surge responder is, with EvictionRequests.
	Surge surgecontroller.Scope
	// FinishedEventTTL is how long events are kept after they have ended.
	FinishedEventTTL time.Duration
	// HealthAddress serves /healthz and /readyz; MetricsAddress serves /metrics. "0":
	// not at all.
	HealthAddress, MetricsAddress string
	// SocketDir is where the process makes a directory for the sockets of its driver, in
	// central mode. Empty: that of temporary files.
	SocketDir string
}

// Validate reports all that is wrong, by the names of the flags.
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
	return errors.Join(errs...)
}
