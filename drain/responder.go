// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Mode says whether pods are evicted, or left to responders of Evictions (KEP-4563): the drain then names the pods
// (Status.Named), and a controller requests their evictions. DaemonSet pods and finished pods are never left.
//
// In no mode is a pod evicted or deleted while its Eviction has an active responder other than the one that comes last
// for every pod, whichever requester the Eviction has, unless that responder has been silent for more than 21 min. (A pod
// that is terminating already is killed if an Escalation asks for it.)
type Mode string

const (
	// ModeAuto leaves pods that have responders of their own to them, and evicts all others. It evicts such a pod all the
	// same where no responder answers for ResponderPatience, or where all responders have failed. Pods whose budget can never
	// allow an eviction are named too, as a responder may help; until one does, the drain goes on with them itself.
	ModeAuto Mode = "Auto"
	// ModeEvictionRequest leaves all pods, and never evicts one. Where no responder answers, that is a Blocker.
	ModeEvictionRequest Mode = "EvictionRequest"
	// ModeEviction evicts all pods and names none.
	ModeEviction Mode = "Eviction"
)

// ResponderPatience is how long a drain waits, once it has named a pod, until the pod has an Eviction whose responder is at
// work.
const ResponderPatience = 30 * time.Second

// ResponderReader tells what becomes of Evictions. Its methods are called from several goroutines.
type ResponderReader interface {
	// Follow calls changed with each change of what Responders tells, and with the pods of which it tells something else;
	// with none, it may be any. When ctx ends, it returns. A Drain calls it once.
	Follow(ctx context.Context, changed func(pods ...types.UID))
	// Responders tells what is known now of these pods, while a Follow goes on. It asks the server nothing.
	Responders(pods []*corev1.Pod) Responders
}

// Responders is what is known of the responders of some pods at one moment.
type Responders struct {
	// Known tells that it has been found out whether Evictions are served, and which there are. A Drain that begins waits
	// for it; after 10 s it goes on with the pods of which it is told meanwhile that they have no responders of their own.
	Known bool
	// Served tells that there is an API of Evictions, and that it may be read.
	Served bool
	// Err says why it cannot be read now. What was read before still counts.
	Err error
	// Pods is what is known of the pods, by UID.
	Pods map[types.UID]Response
}

// Response is what becomes of one pod.
type Response struct {
	// Own tells that the pod has responders of its own, besides the one that comes last for every pod and evicts.
	Own bool
	// State of the Eviction that counts for the pod.
	State EvictionState
	// Eviction is its name, and UID its UID.
	Eviction string
	UID      types.UID
	// Responder is the one that is active. Empty: none is. Last tells that it is the one that comes last for every pod.
	Responder string
	Last      bool
	// Since is when its turn came, and Heartbeat when it gave its last sign of life. Zero: not known, or never. Where both
	// are zero, the responder counts as one that is at work, however long it takes.
	Since, Heartbeat time.Time
	// Message is what the active responder says, or why the Eviction has failed. It is for people.
	Message string
}

// EvictionState is how an Eviction stands.
type EvictionState string

// The states.
const (
	// EvictionNone: the pod has no Eviction that counts. One that was canceled, or succeeded, does not.
	EvictionNone EvictionState = ""
	// EvictionRunning: it has not ended.
	EvictionRunning EvictionState = "Running"
	// EvictionFailed: it has ended, all responders have had their turn or it cannot be, and the pod is still there.
	EvictionFailed EvictionState = "Failed"
)

// A responder is silent when its last sign of life, or the beginning of its turn, is so long ago. The API takes the turn from
// one that has sent no heartbeat for 20 min; the minute is for whoever does that, and for clocks. If nobody has done it by
// then, nobody does: there may be no controller any more. The one that comes last sends a heartbeat every 3 min, and
// interrupting it does no harm.
const (
	silentAfter     = 20*time.Minute + time.Minute
	lastSilentAfter = 7 * time.Minute
)

// active reports whether it is a responder's turn.
func (r Response) active() bool { return r.State == EvictionRunning && r.Responder != "" }

// works reports whether somebody is at work on the pod whom an eviction would interrupt.
func (r Response) works(now time.Time) bool { return r.active() && !r.Last && !r.silent(now) }

// alive reports whether the active responder has given a sign of life, not too long ago.
func (r Response) alive(now time.Time) bool {
	return r.active() && !r.Heartbeat.IsZero() && !r.silent(now)
}

// heard is when the active responder was heard of last. Zero: that is not known.
func (r Response) heard() time.Time {
	if r.Heartbeat.After(r.Since) {
		return r.Heartbeat
	}
	return r.Since
}

// silent reports whether the active responder has not been heard of for too long.
func (r Response) silent(now time.Time) bool {
	at := r.silentAt()
	return !at.IsZero() && !now.Before(at)
}

// silentAt is when the active responder will be silent, unless it is heard of before. Zero: that is not known.
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

// PodReference is one pod, and no other of the same name.
type PodReference struct {
	types.NamespacedName
	UID types.UID
}
