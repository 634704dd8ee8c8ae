// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// replaced tells whether enough pods are available without this one, and without those
// that were let go before. If that only takes time, at is when.
func replaced(f Facts, p Pod, now time.Time) (enough bool, at time.Time) {
	available := 0
	for _, other := range f.Pods {
		if other.UID == p.UID || isReleased(other.Pod) && other.Standing != NoEviction && other.Standing != Awaited {
			continue
		}
		since, ready := readySince(other.Pod)
		ripe := since.Add(time.Duration(f.ReplicaSet.Spec.MinReadySeconds) * time.Second)
		switch {
		case !ready || isTerminating(other.Pod):
		case now.Before(ripe):
			if at.IsZero() || ripe.Before(at) {
				at = ripe
			}
		default:
			available++
		}
	}
	return available >= f.replicas()-min(f.excused(), unreadyBefore(p.Pod)), at
}

// excused are pods that were there long before any release, and are not Ready. Of a pod
// that was given back, the replacement may be among them: so each release notes how many
// there were.
func (f Facts) excused() int {
	n := 0
	for _, p := range f.Pods {
		ofRelease := slices.ContainsFunc(f.Pods, func(released Pod) bool { return isReleased(released.Pod) && isCandidate(released, p.Pod) })
		if f.controls(p.Pod) && !isTerminating(p.Pod) && !isReady(p.Pod) && !ofRelease {
			n++
		}
	}
	return n
}

// isCandidate tells whether the pod can have been created because p was released.
func isCandidate(p Pod, pod *corev1.Pod) bool {
	return !pod.CreationTimestamp.Add(clockSkew).Before(releasedAt(p.Pod))
}

// lacking says what a released pod waits for.
func lacking(f Facts) string {
	var unready *corev1.Pod // the newest
	for _, other := range f.Pods {
		if !f.controls(other.Pod) || isTerminating(other.Pod) || isReady(other.Pod) {
			continue
		}
		if why, stuck := unschedulable(other.Pod); stuck {
			return fmt.Sprintf("the replacement, pod %s, cannot be scheduled: %s", other.Name, why)
		}
		if unready == nil || newer(other.Pod, unready) {
			unready = other.Pod
		}
	}
	switch {
	case unready == nil:
		return fmt.Sprintf("of ReplicaSet %s, %d pods must be available, and fewer are", f.ReplicaSet.Name, f.replicas())
	case unready.Spec.NodeName == "":
		return fmt.Sprintf("the replacement, pod %s, is not scheduled yet", unready.Name)
	default:
		return fmt.Sprintf("the replacement, pod %s on node %s, is not Ready", unready.Name, unready.Spec.NodeName)
	}
}

// newer orders pods of the same second by their names.
func newer(a, b *corev1.Pod) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name)) > 0
}
