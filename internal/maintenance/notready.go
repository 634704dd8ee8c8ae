// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"cmp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubectl/pkg/util/podutils"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// NotReadyPod is a pod that should run, and is Pending or not Ready.
type NotReadyPod struct {
	// Name is namespace/name.
	Name string
	// Created is its creation time.
	Created time.Time
	// Node of the pod; empty, if it is unscheduled.
	Node string
	// Controller is the UID of its controller; empty, if it has no controller.
	Controller types.UID
}

// ReadNotReady reads a pod that should run, and is Pending or not Ready. It leaves out pods that their node keeps
// away, which must not delay its return, and pods that are being deleted. Among started pods, it leaves out pods of
// DaemonSets and static pods, which the return of their node checks, and pods that run to completion, which need not
// become Ready.
func ReadNotReady(pod *corev1.Pod) (p NotReadyPod, is bool) {
	_, keptAway := pod.Labels[slipwayv1alpha1.KeptAway]
	if keptAway || pod.DeletionTimestamp != nil {
		return NotReadyPod{}, false
	}
	ends := pod.Spec.RestartPolicy != "" && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
	switch pod.Status.Phase {
	case corev1.PodPending, "":
	case corev1.PodSucceeded, corev1.PodFailed:
		return NotReadyPod{}, false
	default:
		if sharedpdbs.BelongsToNode(pod) || ends || podutils.IsPodReady(pod) {
			return NotReadyPod{}, false
		}
	}
	p = NotReadyPod{Name: pod.Namespace + "/" + pod.Name, Created: pod.CreationTimestamp.Time, Node: pod.Spec.NodeName}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		p.Controller = owner.UID
	}
	return p, true
}

// SortNotReady puts the oldest first.
func SortNotReady(pods []NotReadyPod) {
	slices.SortFunc(pods, func(a, b NotReadyPod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
}

// namedNotReady limits the names in a message.
const namedNotReady = 5

// countsNotReady reports whether pods that are not ready can hold the rollout of a maintenance.
func (m *maintenance) countsNotReady() bool {
	return m.Spec.Rollout != nil && (m.Spec.Rollout.MaxPendingPods == nil || *m.Spec.Rollout.MaxPendingPods != 0)
}

// notReadySince counts the pods that are not ready and were created since the maintenance began, most of which replace
// evicted pods. It returns the names of the oldest ones. It leaves out pods on a drained node: they leave it, or belong
// to its work. It also leaves out pods of a controller with older pods that are not ready, which the maintenance did not
// cause; but it counts unschedulable ones, as the cluster has no room for more.
func (v *view) notReadySince(m *maintenance) (count int, names []string) {
	began := latest(m.began(slipwayv1alpha1.StageDrain), m.notBefore())
	if began.IsZero() || !m.countsNotReady() {
		return 0, nil
	}
	broken := v.brokenBefore(began)
	for _, pod := range v.facts.NotReady {
		if pod.Created.Before(began) || v.drainsNode(pod.Node) || pod.Node != "" && broken[pod.Controller] {
			continue
		}
		count++
		if len(names) < namedNotReady {
			names = append(names, pod.Name)
		}
	}
	return count, names
}

// drainsNode reports whether a claimed drain has the node out of service.
func (v *view) drainsNode(name string) bool {
	n := v.byName[name]
	return n != nil && n.drain != nil && claimed(n.drain)
}

// brokenBefore returns the controllers of older pods that are not ready on a Ready node.
func (v *view) brokenBefore(at time.Time) map[types.UID]bool {
	broken := map[types.UID]bool{}
	for _, pod := range v.facts.NotReady {
		n := v.byName[pod.Node]
		if pod.Created.Before(at) && pod.Controller != "" && n != nil && n.exists() && n.ready() && !v.drainsNode(pod.Node) {
			broken[pod.Controller] = true
		}
	}
	return broken
}
