// SPDX-License-Identifier: Apache-2.0

package lease

import (
	"encoding/json"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent/decision"
	"github.com/slipway-k8s/slipway/nodelease"
)

const (
	// Duration of a lease. An update of the controller, or an outage of some minutes, must not lose the lease of a node
	// out of service; and after the removal of Slipway, other holders must not wait for hours.
	Duration = 15 * time.Minute
	// RenewAfter leaves time for two failed renewals. A node out of service costs twelve writes an hour.
	RenewAfter = Duration / 3
)

// Facts are the known facts about one node. Next changes none of them.
type Facts struct {
	NodeName string
	// Node is nil if it does not exist.
	Node *corev1.Node
	// CordonedFor are the names of the events that the Node is cordoned for. It is empty for a schedulable Node.
	CordonedFor []string
	// Lease is nil if it does not exist.
	Lease *coordinationv1.Lease
	// Events are bound to the node.
	Events []*lifecyclev1alpha1.LifecycleEvent
	// Transitions by name.
	Transitions map[string]*lifecyclev1alpha1.LifecycleTransition
}

// Decision is one step, and the time of the next decision about unchanged facts.
type Decision = decision.Of[Step]

// Step is one step. Repeating it is harmless.
type Step interface{ isStep() }

type (
	// Acquire takes the free lease, if it is unchanged since it was seen.
	Acquire struct {
		Lease   *coordinationv1.Lease
		Purpose string
	}
	// Renew keeps Slipway's lease.
	Renew struct {
		Lease   *coordinationv1.Lease
		Purpose string
	}
	// Release ends Slipway's lease.
	Release struct {
		Lease *coordinationv1.Lease
	}
	// Mirror writes the Node's annotation with the holder of the lease. An empty value removes it.
	Mirror struct {
		Value string
	}
	// WriteStatus replaces the status of an event, if the event is unchanged since it was seen.
	WriteStatus struct {
		Event  *lifecyclev1alpha1.LifecycleEvent
		Status lifecyclev1alpha1.LifecycleEventStatus
	}
	// RemoveGate removes the gate of leases from an event.
	RemoveGate struct {
		Event *lifecyclev1alpha1.LifecycleEvent
	}
)

func (Acquire) isStep()     {}
func (Renew) isStep()       {}
func (Release) isStep()     {}
func (Mirror) isStep()      {}
func (WriteStatus) isStep() {}
func (RemoveGate) isStep()  {}

// Next returns the next step for the node's lease. The lease comes first, then the Node's annotation, then the events:
// when an event passes, the Node already shows the holder of the lease.
func Next(f Facts, now time.Time) Decision {
	if f.Node == nil { // the lease goes with the Node, and oversight ends the events
		return Decision{}
	}
	held, is := nodelease.Read(f.Lease, now)
	d := keep(f, held, is, now).Or(mirror(f, held, is))
	for _, e := range lifecycleevent.OldestFirst(f.Events) {
		if d.Step != nil {
			return d
		}
		d = d.Or(admit(f, e, held, is, now))
	}
	return d
}

// keep acquires the lease that Slipway needs, renews it, and releases it.
func keep(f Facts, held nodelease.Held, is bool, now time.Time) Decision {
	switch {
	case is && held.Holder != nodelease.Slipway && held.Until.IsZero():
		return Decision{}
	case is && held.Holder != nodelease.Slipway: // until it expires
		return Decision{Wake: held.Until.Add(nodelease.Skew + time.Millisecond)}
	case is && !needed(f) && !returning(f):
		return Decision{Step: Release{Lease: f.Lease}}
	case is && now.Before(renewal(f.Lease)):
		return Decision{Wake: renewal(f.Lease)}
	case is:
		return Decision{Step: Renew{Lease: f.Lease, Purpose: purpose(f, held.Purpose)}}
	case needed(f):
		return Decision{Step: Acquire{Lease: f.Lease, Purpose: purpose(f, "")}}
	default:
		return Decision{}
	}
}

// renewal returns the time at which to renew Slipway's lease. Another version of Slipway may have acquired it for
// another time; a third of that time must pass.
func renewal(lease *coordinationv1.Lease) time.Time {
	spec := lease.Spec
	if spec.RenewTime == nil || spec.LeaseDurationSeconds == nil {
		return time.Time{}
	}
	duration := time.Duration(*spec.LeaseDurationSeconds) * time.Second
	return spec.RenewTime.Add(min(duration/3, RenewAfter))
}

// mirrored is the value of the annotation: the holder, and its purpose. A renewal does not change it.
type mirrored struct {
	Holder  string    `json:"holder"`
	User    string    `json:"user,omitempty"`
	Purpose string    `json:"purpose,omitempty"`
	Since   time.Time `json:"since,omitzero"`
}

// mirror records any holder of the lease on the Node.
func mirror(f Facts, held nodelease.Held, is bool) Decision {
	value := ""
	if is {
		value = mirrorOf(held)
	}
	if f.Node.Annotations[nodelease.Annotation] == value {
		return Decision{}
	}
	return Decision{Step: Mirror{Value: value}}
}

// Mirrored returns the holder of a node's lease according to the Node, for messages only.
func Mirrored(node *corev1.Node) (held nodelease.Held, is bool) {
	var value mirrored
	if json.Unmarshal([]byte(node.Annotations[nodelease.Annotation]), &value) != nil || value.Holder == "" {
		return nodelease.Held{}, false
	}
	return nodelease.Held{
		Holder: value.Holder, User: value.User, Purpose: value.Purpose, Since: value.Since, Administrator: nodelease.IsAdministrator(value.Holder),
	}, true
}

// lastYear is the last year that JSON can encode. A lease that was written by hand can have a later one.
const lastYear = 9999

func mirrorOf(held nodelease.Held) string {
	value := mirrored{Holder: held.Holder, User: held.User, Purpose: shortened(held.Purpose)}
	if since := held.Since.UTC().Truncate(time.Second); !since.IsZero() && since.Year() <= lastYear {
		value.Since = since
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err) // strings and a valid time cannot fail
	}
	return string(text)
}
