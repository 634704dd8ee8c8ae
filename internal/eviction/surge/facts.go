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
	// Deployment controls the ReplicaSet, or did; nil if there is none.
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
	// Run is the responder's run in this process; nil if there is none.
	Run *Run
	// Standing is the status of the pod's Eviction.
	Standing Standing
}

// Run is the responder's run in the Eviction of a pod.
type Run struct {
	// Since is when this process began.
	Since time.Time
	// GivenUp is why the pod was given back in this run; empty if it was not.
	GivenUp string
}

// Standing is the status of a pod's Eviction, as far as this responder is concerned.
type Standing int

// The standings.
const (
	// NoEviction: there is none, or this responder is not one of its responders.
	NoEviction Standing = iota
	// Awaited: the responder has its run, or will have it.
	Awaited
	// LetGo: the responder has completed. The pod can be evicted at any moment.
	LetGo
	// Interrupted: the responder was silent for too long, and the next one is at work.
	Interrupted
)

const (
	defaultDeadline = 600 * time.Second
	// maxDeadline is for Deployments without a deadline, which have one of 68 years.
	maxDeadline = time.Hour
	// clockSkew is how far apart the clocks of two processes may be: twice what the Eviction API accepts.
	clockSkew = time.Minute
)

// deadline returns how long a replacement may take.
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

// controls says whether the ReplicaSet has the pod.
func (f Facts) controls(pod *corev1.Pod) bool {
	owner := ReplicaSetOf(pod)
	return owner != nil && f.ReplicaSet != nil && owner.UID == f.ReplicaSet.UID && !isReleased(pod)
}
