// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// means is how a pod is asked to leave.
type means int

const (
	// byEviction asks, and the server refuses where a budget does.
	byEviction means = iota
	// byDeletion asks no budget.
	byDeletion
	// byKill shortens the grace period of a pod that is being deleted to a second.
	byKill
)

// mayDelete tells whether the request wants a pod deleted now whose eviction has been refused since then; if not now,
// then when.
func mayDelete(e Escalation, refusedSince, now time.Time) (bool, time.Time) {
	if e.DeleteAfter == 0 {
		return false, time.Time{}
	}
	due := refusedSince.Add(e.DeleteAfter)
	return !now.Before(due), due
}

// mayKill does the same for a pod that is terminating, ahead by which the server's clock is that has dated its end.
func mayKill(pod *corev1.Pod, e Escalation, ahead time.Duration, now time.Time) (bool, time.Time) {
	grace := pod.DeletionGracePeriodSeconds
	if e.KillAfter == 0 || grace == nil || *grace <= 1 {
		return false, time.Time{}
	}
	began := pod.DeletionTimestamp.Add(-ahead - time.Duration(*grace)*time.Second)
	due := began.Add(e.KillAfter)
	return !now.Before(due), due
}
