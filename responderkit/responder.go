// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RunFunc is the action of a responder before or for the eviction of a pod. It returns nil
// when its part is complete, whether the pod still exists or not: the next responder then
// becomes active.
//
// The protocol has no failure. An error or a panic completes the responder like success;
// the message of its entry is then "failed: " and the error, and the next responder becomes
// active. The last responder evicts the pod. If the pod must survive until the work is
// complete, retry inside the run, and report that; only a PodDisruptionBudget protects a
// pod.
//
// Write it level-triggered, not edge-triggered: it checks the current state and does the
// remaining work, because it runs again for the same Eviction after a restart of the
// process. When ctx ends, it stops its work and returns: no work may continue after that.
// context.Cause(ctx) is the reason: [ErrCanceled], [ErrInterrupted], [ErrGone] or
// [ErrShutdown]. The kit then ignores the result, and writes nothing.
//
// There is at most one run for an Eviction (its UID) and for a pod at a time, and a
// completed run does not begin again in this process. During the run, the kit writes a
// heartbeat every 3 minutes, so an idle run must end: the Eviction API forbids delaying an
// eviction by heartbeats alone. A run continues while the API server is unreachable,
// although Kubernetes may already treat it as silent.
//
// report sends the progress. It may be called from any goroutine, after each change; it
// does not block. The kit writes the first change after a heartbeat within 2 s, and further
// changes with the next heartbeat, 20 s after the last one, as the API recommends.
//
// ctx carries a logger that names the Eviction and the pod (klog.FromContext).
type RunFunc func(ctx context.Context, e Eviction, report func(Progress)) error

// Eviction describes the Eviction of a run.
type Eviction struct {
	// Namespace of the Eviction and of its pod.
	Namespace string
	// Name and UID of the Eviction. The name may change for the same pod.
	Name string
	UID  types.UID
	// PodName and PodUID identify the pod to evict.
	PodName string
	PodUID  types.UID
	// ReadPod reads the pod from the API server. The error wraps [ErrPodGone] if the pod
	// does not exist, or if another pod has its name.
	ReadPod func(ctx context.Context) (*corev1.Pod, error)
}

// Progress is the report of a run. Each report replaces the previous one. After a restart,
// the last report stays until the new run reports.
type Progress struct {
	// Message for users: the current activity. The kit keeps 4000 characters.
	Message string
	// ExpectedCompletion is the estimated end of the run. Zero: unknown. The next heartbeat
	// removes an estimate in the past.
	ExpectedCompletion time.Time
}

// ErrPodGone in an error of [Eviction].ReadPod means that the pod of the Eviction no longer
// exists. Another pod may have its name.
var ErrPodGone = errors.New("the pod of the Eviction no longer exists")

// The causes (context.Cause) for which the context of a [RunFunc] ends.
var (
	// ErrCanceled means that all requesters have withdrawn. The run stops, and restores the
	// pod to a healthy state if it has disturbed the pod.
	ErrCanceled = errors.New("the eviction was canceled: all requesters have withdrawn")
	// ErrInterrupted means that the responder was silent for 20 minutes, because the
	// process was not running or could not reach the API server. The next responder may
	// already be active: the run stops without further actions.
	ErrInterrupted = errors.New("the responder was silent too long and was replaced")
	// ErrGone means that there is no work left. The pod or the Eviction was deleted, the
	// Eviction has ended, or another process has completed this responder's part.
	ErrGone = errors.New("the Eviction has ended, or was deleted")
	// ErrShutdown means that the process ends. The responder stays active: if the process
	// restarts within 20 minutes, it runs again for the same Eviction.
	ErrShutdown = errors.New("the responder is shutting down")
)
