// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"strings"
	"time"
)

const (
	// Namespace contains the Leases of nodes.
	Namespace = "kube-node-maintenance"

	// Slipway is the holder for all of Slipway's processes.
	Slipway = "slipway"

	// AdministratorPrefix begins the name of a holder that never expires: a person. The
	// proposal uses "kubeadm" instead, and this package also accepts those names.
	AdministratorPrefix = "kubeadmin"
	// proposedPrefix is the literal in the proposal.
	proposedPrefix = "kubeadm"

	// Skew is the time after its end for which a lease still belongs to its holder for all
	// other tools. It covers clocks that differ by this time.
	Skew = 3 * time.Second

	// MaxDuration limits the time of an acquisition or renewal.
	MaxDuration = time.Hour

	// Annotation of a Node is a copy of the lease of any holder, for users and monitoring, in
	// JSON: {"holder","purpose","since"}. It may be outdated: a tool that acquires or holds a
	// lease uses the Lease. Admission policies cannot read Leases, and use the copy.
	Annotation = "slipway.dev/node-lease"

	// PurposeAnnotation of a Lease describes the work of its holder to users.
	PurposeAnnotation = "slipway.dev/purpose"
)

// IsAdministrator reports whether a holder of this name is a person, whose lease never expires.
func IsAdministrator(holder string) bool { return strings.HasPrefix(holder, proposedPrefix) }
