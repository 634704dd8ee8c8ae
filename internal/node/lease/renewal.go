// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
)

// renewal is when a lease of ours is renewed. One that was taken for another time, by
// another version of Slipway, is renewed after a third of it.
func renewal(lease *coordinationv1.Lease) time.Time {
	spec := lease.Spec
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return time.Time{}
	}
	duration := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	return spec.RenewTime.Add(min(duration/3, RenewAfter))
}
