// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// Facts are what is known of a ReplicaSet at one moment.
type Facts struct {
	// ReplicaSet is nil if there is none: it was deleted, or the pod has no such owner.
	ReplicaSet *appsv1.ReplicaSet
	// Deployment controls the ReplicaSet, or did. It is nil if there is none.
	Deployment *appsv1.Deployment
	// Pods are those that the ReplicaSet controls, and those that were released from it.
	Pods []Pod
	// Services and Budgets are those of the namespace.
	Services []*corev1.Service
	Budgets  []*policyv1.PodDisruptionBudget
}

// Pod is a pod, and what is known of its eviction.
type Pod struct {
	*corev1.Pod
	// Turn is nil unless it is our turn, and this process is at work on it.
	Turn *Turn
	// Standing is where the pod's Eviction stands.
	Standing Standing
}

// Turn is our turn in the Eviction of a pod.
type Turn struct {
	// Since is when this process began.
	Since time.Time
	// GivenUp is why the pod was given back in this turn; empty if it was not.
	GivenUp string
}

// Standing is where the Eviction of a pod stands, as we are concerned.
type Standing int

// The standings.
const (
	// NoEviction: nobody wants the pod evicted, or we are none of its responders.
	NoEviction Standing = iota
	// Awaited: it is our turn, or will be.
	Awaited
	// LetGo: we have completed. The pod can be evicted at any moment.
	LetGo
	// Interrupted: we were silent for too long, and the next responder is at work.
	Interrupted
)

const (
	defaultDeadline = 600 * time.Second
	// maxDeadline is for Deployments without a deadline: those have 68 years.
	maxDeadline = time.Hour
	// clockSkew is how far apart the clocks of two processes may be: twice what the
	// Eviction API takes.
	clockSkew = time.Minute
)

// deadline is how long a replacement may take.
func (f Facts) deadline() time.Duration {
	if f.Deployment == nil || f.Deployment.Spec.ProgressDeadlineSeconds == nil {
		return defaultDeadline
	}
	return min(maxDeadline, time.Duration(*f.Deployment.Spec.ProgressDeadlineSeconds)*time.Second)
}

func (f Facts) replicas() int {
	if f.ReplicaSet.Spec.Replicas == nil {
		return 1
	}
	return int(*f.ReplicaSet.Spec.Replicas)
}

// controls tells whether the ReplicaSet has the pod.
func (f Facts) controls(pod *corev1.Pod) bool {
	owner := ReplicaSetOf(pod)
	return owner != nil && f.ReplicaSet != nil && owner.UID == f.ReplicaSet.UID && !isReleased(pod)
}
