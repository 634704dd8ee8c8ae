// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"slices"
	"strings"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// Namespace contains the Leases of nodes.
	Namespace = "kube-node-maintenance"

	// Slipway is the holder for all of Slipway's processes.
	Slipway = "slipway"

	// AdministratorPrefix begins the name of a holder that never expires: a person. The
	// proposal uses "kubeadm" instead, and this package also accepts those names.
	AdministratorPrefix = "kubeadmin"
	// proposedPrefix is the literal in the proposal.
	proposedPrefix = "kubeadm"

	// Skew is the time after its end for which a lease still belongs to its holder for all
	// other tools. It covers clocks that differ by this time.
	Skew = 3 * time.Second

	// MaxDuration limits the time of an acquisition or renewal.
	MaxDuration = time.Hour

	// Annotation of a Node is a copy of the lease of any holder, for users and monitoring, in
	// JSON: {"holder","user","purpose","since"}. It may be outdated: a tool that acquires or holds a
	// lease uses the Lease. Admission policies cannot read Leases, and use the copy.
	Annotation = "slipway.dev/node-lease"

	// PurposeAnnotation of a Lease describes the work of its holder to users.
	PurposeAnnotation = "slipway.dev/purpose"

	// WriterAnnotation of a Lease is the user that wrote the Lease last, as authenticated by the API server. The
	// admission policy node-lease-writers sets it with each write, and overwrites the value of a client.
	WriterAnnotation = "slipway.dev/written-by"
)

// IsAdministrator reports whether a holder of this name is a person, whose lease never expires.
func IsAdministrator(holder string) bool { return strings.HasPrefix(holder, proposedPrefix) }

// Held describes the holder in a Lease.
type Held struct {
	// Holder is its name. Empty: no holder.
	Holder string
	// User wrote the lease last, as authenticated by the API server: a holder can choose any name, and a user cannot.
	// Empty without the admission policy node-lease-writers.
	User string
	// Purpose describes the holder's work to users. May be empty.
	Purpose string
	// Since is the time of the acquisition.
	Since time.Time
	// Until is the time until which the holder may rely on the lease, unless it renews it. For
	// all other tools the lease belongs to the holder for [Skew] longer. Zero: it never
	// expires.
	Until time.Time
	// Administrator means that the holder is a person.
	Administrator bool
	// Transitions counts the changes of the holder.
	Transitions int32
}

// Valid reports whether the holder itself, with the time now on its clock, may continue.
func (h Held) Valid(now time.Time) bool {
	return h.Holder != "" && (h.Administrator || !now.After(h.Until))
}

// FreeAfter returns the time after which other holders may acquire the lease, unless it is
// renewed. Zero: it never expires.
func (h Held) FreeAfter() time.Time {
	if h.Until.IsZero() {
		return time.Time{}
	}
	return h.Until.Add(Skew)
}

// Read returns the holder of the lease, for a reader with the time now on its clock. If is is
// false, the lease is free, and a holder in held is the last one, which let it expire. A nil
// Lease is a lease without a first holder.
func Read(lease *coordinationv1.Lease, now time.Time) (held Held, is bool) {
	if lease == nil {
		return Held{}, false
	}
	spec := lease.Spec
	held.Transitions = valueOf(spec.LeaseTransitions)
	held.Holder = valueOf(spec.HolderIdentity)
	if held.Holder == "" {
		return held, false
	}
	held.Purpose, held.User = lease.Annotations[PurposeAnnotation], lease.Annotations[WriterAnnotation]
	if spec.AcquireTime != nil {
		held.Since = spec.AcquireTime.Time
	}
	if IsAdministrator(held.Holder) {
		held.Administrator = true
		return held, true
	}
	// Without a time or a duration the expiry is unknown: the proposal writes a duration of 0
	// to release the lease.
	if spec.RenewTime == nil {
		return held, false
	}
	held.Until = spec.RenewTime.Add(time.Duration(max(0, valueOf(spec.LeaseDurationSeconds))) * time.Second)
	return held, valueOf(spec.LeaseDurationSeconds) > 0 && !now.After(held.FreeAfter())
}

func valueOf[T any](p *T) (value T) {
	if p != nil {
		value = *p
	}
	return value
}

// Take returns the Lease to create (if lease is nil) or to update, with which the holder has
// the lease from now on for d. An update has the resourceVersion of lease, so that the server
// rejects it after a conflict. Take does not check the current holder: the caller has verified
// with [Read] that the lease is free, or the holder's own. It sets all fields of the protocol,
// and keeps all other fields of the Lease.
//
// Node becomes the owner. It may be nil if lease is not nil; the owners are then unchanged. The
// server counts whole seconds: Take rounds d up, to at least one second and at most
// [MaxDuration].
func Take(lease *coordinationv1.Lease, node *corev1.Node, holder, purpose string, d time.Duration, now time.Time) *coordinationv1.Lease {
	before, held := Read(lease, now)
	taken := lease.DeepCopy()
	if taken == nil {
		taken = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: node.Name}}
	}
	if node != nil {
		own(taken, node)
	}
	describe(taken, purpose)
	spec := &taken.Spec
	spec.HolderIdentity = &holder
	spec.LeaseDurationSeconds = new(seconds(d))
	spec.RenewTime = &metav1.MicroTime{Time: now}
	// A lease that was free in between is a new one, even with the same holder.
	if !held || before.Holder != holder || spec.AcquireTime == nil {
		spec.AcquireTime = &metav1.MicroTime{Time: now}
	}
	if lease != nil && before.Holder != holder {
		before.Transitions++
	}
	spec.LeaseTransitions = new(before.Transitions)
	return taken
}

// Give returns the released Lease. The proposal sets the duration to 0, which the server
// rejects: Give sets 1, and an empty holder. Nil stays nil.
func Give(lease *coordinationv1.Lease, now time.Time) *coordinationv1.Lease {
	if lease == nil {
		return nil
	}
	given := lease.DeepCopy()
	describe(given, "")
	given.Spec.HolderIdentity = new("")
	given.Spec.LeaseDurationSeconds = new(int32(1))
	given.Spec.RenewTime = &metav1.MicroTime{Time: now}
	return given
}

// own makes the Node an owner, and replaces a deleted Node of the same name.
func own(lease *coordinationv1.Lease, node *corev1.Node) {
	lease.OwnerReferences = slices.DeleteFunc(lease.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.APIVersion == "v1" && o.Kind == "Node"
	})
	lease.OwnerReferences = append(lease.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "Node", Name: node.Name, UID: node.UID})
}

// describe writes the purpose; an empty purpose removes the previous one. It removes the user, which the API server sets
// again.
func describe(lease *coordinationv1.Lease, purpose string) {
	delete(lease.Annotations, WriterAnnotation)
	switch {
	case purpose == "":
		delete(lease.Annotations, PurposeAnnotation)
	case lease.Annotations == nil:
		lease.Annotations = map[string]string{PurposeAnnotation: purpose}
	default:
		lease.Annotations[PurposeAnnotation] = purpose
	}
}

func seconds(d time.Duration) int32 {
	d = min(max(d, time.Second), MaxDuration)
	return int32((d + time.Second - 1) / time.Second)
}
