// SPDX-License-Identifier: Apache-2.0

package nodelease

import (
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

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

// describe writes the purpose; an empty purpose removes the previous one.
func describe(lease *coordinationv1.Lease, purpose string) {
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
