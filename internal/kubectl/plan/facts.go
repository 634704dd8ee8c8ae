// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain"
)

// Facts are what a prediction is made from.
type Facts struct {
	Now time.Time
	// Drains are the nodes that are drained together, with all that a drain looks at.
	Drains drain.Snapshot
	// Nodes and Pods are all of the cluster. Without Nodes, nothing is said of replacements.
	Nodes []*corev1.Node
	Pods  []*corev1.Pod
	// Stock is what [NewStock] makes of these, for who plans many drains of one cluster. Nil: it
	// is made anew.
	Stock *Stock
	// Namespaces are the labels of all namespaces.
	Namespaces map[string]labels.Set
	// Claims and Volumes are those of the pods that may leave.
	Claims  map[types.NamespacedName]*corev1.PersistentVolumeClaim
	Volumes map[string]*corev1.PersistentVolume
	// Unread says what could not be read, and what that makes unsure.
	Unread []string
}
