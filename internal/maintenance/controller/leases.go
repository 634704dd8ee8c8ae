// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/nodelease"
)

// leases are who has the leases of nodes, by the nodes' names. What a late cache shows of one
// of ours ends earlier than it does.
func (m *Maintainer) leases(ctx context.Context) (map[string]nodelease.Held, error) {
	if !m.Leases {
		return nil, nil //nolint:nilnil // nobody looks at them
	}
	var list coordinationv1.LeaseList
	if err := m.reader.List(ctx, &list, client.InNamespace(nodelease.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the leases of nodes: %w", err)
	}
	now, held := m.Clock.Now(), map[string]nodelease.Held{}
	for i := range list.Items {
		if holder, is := nodelease.Read(&list.Items[i], now); is {
			held[list.Items[i].Name] = holder
		}
	}
	return held, nil
}

// leaseChanged leaves out renewals: who has a lease, and since when, stays as it is.
func leaseChanged(before, after any) bool {
	a, is := before.(*coordinationv1.Lease)
	b, too := after.(*coordinationv1.Lease)
	return !is || !too || !equality.Semantic.DeepEqual(a.Spec.HolderIdentity, b.Spec.HolderIdentity) || !a.Spec.AcquireTime.Equal(b.Spec.AcquireTime)
}
