// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Mode selects the pods that are left to responders of Evictions (KEP-4563): the drain names these pods
// (Status.Named), and a controller requests their evictions. DaemonSet pods and finished pods are never left.
//
// In no mode does a drain evict or delete a pod while its Eviction has an active responder other than the responder that comes
// last for every pod, for any requester of the Eviction, unless that responder has been silent for more than 21 min. (An
// Escalation may still kill a terminating pod.)
type Mode string

const (
	// ModeAuto leaves pods with their own responders to these, and evicts all other pods. It still evicts such a pod
	// if no responder acts for ResponderPatience, or if all responders have failed. It also names pods whose budget can never
	// allow an eviction, as a responder may help; until one acts, the drain continues with these pods itself.
	ModeAuto Mode = "Auto"
	// ModeEvictionRequest leaves all pods, and never evicts one. A pod without an acting responder is a Blocker.
	ModeEvictionRequest Mode = "EvictionRequest"
	// ModeEviction evicts all pods and names none.
	ModeEviction Mode = "Eviction"
)

// ResponderPatience limits the time from the name of a pod in Status.Named until a responder acts on its Eviction.
const ResponderPatience = 30 * time.Second

// ResponderReader reads Evictions. Its methods are called from several goroutines.
type ResponderReader interface {
	// Follow calls changed with each change of the result of Responders, and with the pods of the change; without pods, it may
	// be any pod. When ctx ends, it returns. A Drain calls it once.
	Follow(ctx context.Context, changed func(pods ...types.UID))
	// Responders returns the current knowledge about these pods, while a Follow runs. It sends no request.
	Responders(pods []*corev1.Pod) Responders
}

// Responders is the knowledge about the responders of some pods at one moment.
type Responders struct {
	// Known: the reader has found out whether the server has Evictions, and which. A Drain that begins waits for it; after 10 s
	// it continues with the pods that have no responders according to Pods.
	Known bool
	// Served: the server has an API of Evictions, which the reader may read.
	Served bool
	// Err is the error of the last read. The result of earlier reads still counts.
	Err error
	// Pods is the knowledge about each pod, by UID.
	Pods map[types.UID]Response
}

// Response is the progress of the responders of one pod.
type Response struct {
	// Own: the pod has responders in addition to the responder that comes last for every pod and evicts.
	Own bool
	// State of the Eviction that counts for the pod.
	State EvictionState
	// Eviction is its name, and UID its UID.
	Eviction string
	UID      types.UID
	// Responder is the active responder. Empty: no responder is active. Last: it is the responder that comes last for every pod.
	Responder string
	Last      bool
	// Since is the time at which the responder became active, Heartbeat the time of its last heartbeat. Zero: unknown, or never.
	// If both are zero, the responder counts as working without a limit of time.
	Since, Heartbeat time.Time
	// Message is the message of the active responder, or the cause of the failure.
	Message string
}

// EvictionState is the state of an Eviction.
type EvictionState string

// The states.
const (
	// EvictionNone: the pod has no Eviction that counts. A canceled or succeeded Eviction does not count.
	EvictionNone EvictionState = ""
	// EvictionRunning: the Eviction has not ended.
	EvictionRunning EvictionState = "Running"
	// EvictionFailed: the Eviction has ended without success and the pod still exists.
	EvictionFailed EvictionState = "Failed"
)

// A responder is silent that long after its last heartbeat, or after it became active. The API replaces a responder without a
// heartbeat for 20 min; the additional minute is for the controller that does so, and for clocks. If no controller has
// replaced the responder by then, no controller may be running. The responder that comes last sends a heartbeat every 3 min, and an
// interruption of it does no harm.
const (
	silentAfter     = 20*time.Minute + time.Minute
	lastSilentAfter = 7 * time.Minute
)

// active reports whether a responder is active.
func (r Response) active() bool { return r.State == EvictionRunning && r.Responder != "" }

// works reports whether an eviction would interrupt a responder.
func (r Response) works(now time.Time) bool { return r.active() && !r.Last && !r.silent(now) }

// alive reports whether the active responder has sent a heartbeat, and is not silent.
func (r Response) alive(now time.Time) bool {
	return r.active() && !r.Heartbeat.IsZero() && !r.silent(now)
}

// heard returns the last time at which the active responder was alive. Zero: unknown.
func (r Response) heard() time.Time {
	if r.Heartbeat.After(r.Since) {
		return r.Heartbeat
	}
	return r.Since
}

// silent reports whether the active responder is silent.
func (r Response) silent(now time.Time) bool {
	at := r.silentAt()
	return !at.IsZero() && !now.Before(at)
}

// silentAt returns the time at which the active responder will be silent without a further heartbeat. Zero: unknown.
func (r Response) silentAt() time.Time {
	switch heard := r.heard(); {
	case heard.IsZero():
		return time.Time{}
	case r.Last:
		return heard.Add(lastSilentAfter)
	default:
		return heard.Add(silentAfter)
	}
}
