// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"strings"
	"time"
)

const (
	// Namespace is where the Leases of nodes are.
	Namespace = "kube-node-maintenance"

	// Slipway is the holder as which all of Slipway's processes take leases.
	Slipway = "slipway"

	// AdministratorPrefix is what the name of a holder begins with that never expires: a
	// person. The proposal says "kubeadm" in its place, and those names are read as well.
	AdministratorPrefix = "kubeadmin"
	// proposedPrefix is the proposal's literal.
	proposedPrefix = "kubeadm"

	// Skew is how long after its end a lease stays its holder's for all others. It makes good
	// for clocks that differ by as much.
	Skew = 3 * time.Second

	// MaxDuration is the longest time for which a lease is taken or renewed.
	MaxDuration = time.Hour

	// Annotation of a Node is a copy for people and monitoring of who holds its lease, whoever
	// that is, in JSON: {"holder","purpose","since"}. It may lag behind: who takes a lease, or
	// works under one, goes by the Lease. Admission policies cannot read that, and go by the copy.
	Annotation = "slipway.dev/node-lease"

	// PurposeAnnotation of a Lease says for people what its holder does with the node.
	PurposeAnnotation = "slipway.dev/purpose"
)

// IsAdministrator tells that a holder of this name is a person, whose lease never expires.
func IsAdministrator(holder string) bool { return strings.HasPrefix(holder, proposedPrefix) }
