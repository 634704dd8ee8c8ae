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

// mayDelete tells whether the request wants the pod deleted now, given when its turn came; if not now, then when. A pod
// that is left to end by itself has not been asked to leave: its time begins when that of the rule is over.
func (l leaver) mayDelete(e Escalation, turn, now time.Time) (bool, time.Time) {
	awaited := l.behavior == WaitCompleted && !isFinished(l.pod)
	if e.DeleteAfter == 0 || awaited && l.deadline == 0 {
		return false, time.Time{}
	}
	due := turn.Add(e.DeleteAfter)
	if awaited {
		due = due.Add(l.deadline)
	}
	return !now.Before(due), due
}

// mayKill does the same for a pod that is terminating.
func mayKill(pod *corev1.Pod, e Escalation, now time.Time) (bool, time.Time) {
	grace := pod.DeletionGracePeriodSeconds
	if e.KillAfter == 0 || grace == nil || *grace <= 1 {
		return false, time.Time{}
	}
	began := pod.DeletionTimestamp.Add(-time.Duration(*grace) * time.Second)
	due := began.Add(e.KillAfter)
	return !now.Before(due), due
}
