// SPDX-License-Identifier: Apache-2.0

package responderkit

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// RunFunc is what a responder does before, or to make, a pod go. It returns nil when it
// has done its part, whether the pod is gone by then or not: the next responder then has
// its turn.
//
// The protocol knows no failure. An error, and a panic as well, completes the responder's
// turn like success does; the message of its entry then says "failed: " and the error,
// and the next responder has its turn. The last one evicts the pod. Who must not lose the
// pod before the work is done tries again inside the run, for as long as that makes
// sense, and says so in a report; a PodDisruptionBudget is what keeps a pod.
//
// It is written for the level, not for the edge: it looks at what there is and does what
// is left to do, because it is run again for the same Eviction when the process
// restarted. When ctx ends, it stops what it has begun and returns: nothing must go on
// after that. context.Cause(ctx) says why: [ErrCanceled], [ErrInterrupted], [ErrGone] or
// [ErrShutdown]. What it returns then does not count: nothing is written any more.
//
// There is at most one run for an Eviction (its UID) and for a pod at a time, and one that
// has returned does not begin again in this process. While it goes on, the kit writes a heartbeat every 3 minutes, so a run that does nothing must not go on:
// the Eviction API asks not to hold a pod by heartbeats alone. A run goes on while the API
// server cannot be reached, although Kubernetes may have called it silent by then.
//
// report says how far the work is. It may be called from any goroutine, as often as
// something changes; it does not block. A change is written at once, or 20 s after the
// last heartbeat, as the API asks of responders.
//
// ctx carries a logger that names the Eviction and the pod (klog.FromContext).
type RunFunc func(ctx context.Context, e Eviction, report func(Progress)) error

// Eviction is what a run is for.
type Eviction struct {
	// Namespace is that of the Eviction and of its pod.
	Namespace string
	// Name and UID are those of the Eviction. Its name may change for the same pod.
	Name string
	UID  types.UID
	// PodName and PodUID are those of the pod that is to go.
	PodName string
	PodUID  types.UID
	// ReadPod reads the pod from the API server. The error wraps [ErrPodGone] if there
	// is none of that name, or if it is another pod that has the name by now.
	ReadPod func(ctx context.Context) (*corev1.Pod, error)
}

// Progress is what a run reports. Each report takes the place of the one before. After a
// restart, what was reported last stays until the new run reports.
type Progress struct {
	// Message for people: what is going on. Of a longer one, 4000 characters are kept.
	Message string
	// ExpectedCompletion is when the run will be done, as well as can be said. Zero: that
	// is not known. One that has passed is taken back with the next heartbeat.
	ExpectedCompletion time.Time
}

// ErrPodGone in an error of [Eviction].ReadPod: the pod of the Eviction is not there any
// more. Another pod may have its name.
var ErrPodGone = errors.New("the pod of the Eviction is gone")

// The causes (context.Cause) for which the context of a [RunFunc] ends.
var (
	// ErrCanceled: nobody wants the pod gone any more. The run stops, and brings the pod
	// back to a healthy state if it has disturbed it.
	ErrCanceled = errors.New("the eviction was canceled: nobody requests it any more")
	// ErrInterrupted: the responder was silent for 20 minutes, because the process was
	// not running or could not reach the API server. The next responder may be at work
	// already: the run stops and does nothing more.
	ErrInterrupted = errors.New("the responder was silent too long: its turn is over")
	// ErrGone: there is nothing left to do. The pod is gone, the Eviction has ended or is
	// (being) deleted, or another process has completed this responder's turn.
	ErrGone = errors.New("the Eviction has ended, or is gone")
	// ErrShutdown: the process ends. The responder's turn goes on: whoever is started
	// next runs again for the same Eviction, if that is within 20 minutes.
	ErrShutdown = errors.New("the responder is shutting down")
)
