// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// replaced says whether enough pods are available without this one, and without those that were let go before.
// If that only takes time, at is when.
func (v *view) replaced(p Pod) (enough bool, at time.Time) {
	available := 0
	for _, other := range v.Pods {
		if other.UID == p.UID || isReleased(other.Pod) && other.Standing != NoEviction && other.Standing != Awaited {
			continue
		}
		since, ready := readySince(other.Pod)
		ripe := since.Add(time.Duration(v.ReplicaSet.Spec.MinReadySeconds) * time.Second)
		switch {
		case !ready || isTerminating(other.Pod):
		case v.now.Before(ripe):
			if at.IsZero() || ripe.Before(at) {
				at = ripe
			}
		default:
			available++
		}
	}
	return available >= v.replicas()-min(v.excused(), unreadyBefore(p.Pod)), at
}

// excused counts the pods that existed long before any release, and are not Ready. The replacement of a pod that
// was given back may be among them: so each release records how many there were.
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

// isCandidate says whether the pod can have been created because p was released.
func isCandidate(p Pod, pod *corev1.Pod) bool {
	return !pod.CreationTimestamp.Add(clockSkew).Before(releasedAt(p.Pod))
}

// lacking returns what a released pod waits for.
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
