// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// Facts are what a forecast is made from.
type Facts struct {
	// Cluster is what a plan of drains is made from. Its Drains name no nodes: which of them are
	// drained together is found out here.
	Cluster plan.Facts
	// NoPods: the pods of the cluster are not known, so nothing is said of what becomes of them.
	NoPods bool
	// Maintenances are what the controller decides from. Their nodes have no budgets: those are
	// found out here. Jobs change nothing.
	Maintenances maintenance.Facts
	// Planned is the maintenance in question. It is among the facts, whether it exists or not.
	Planned types.UID
}
