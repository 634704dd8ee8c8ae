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

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// NotReadyPod is a pod that does not run: it is Pending, or not Ready.
type NotReadyPod struct {
	// Name is namespace/name.
	Name string
	// Created is when.
	Created time.Time
	// Node has taken it; empty: none has.
	Node string
	// Controller is the UID of what looks after it; empty: nothing does.
	Controller types.UID
}

// ReadNotReady reads a pod that does not run, and is to. One that is kept away from its node
// waits for that node's return, and must not hold it up; one that is being deleted is to run
// no more. Of those that have begun, one of a DaemonSet and a static one are looked at when
// their node returns, and for one that runs to an end Ready means nothing.
func ReadNotReady(pod *corev1.Pod) (p NotReadyPod, is bool) {
	_, keptAway := pod.Labels[slipwayv1alpha1.KeptAway]
	if keptAway || pod.DeletionTimestamp != nil {
		return NotReadyPod{}, false
	}
	switch pod.Status.Phase {
	case corev1.PodPending, "":
	case corev1.PodSucceeded, corev1.PodFailed:
		return NotReadyPod{}, false
	default:
		if sharedpdbs.BelongsToNode(pod) || runsToAnEnd(pod) || isReady(pod) {
			return NotReadyPod{}, false
		}
	}
	p = NotReadyPod{Name: pod.Namespace + "/" + pod.Name, Created: pod.CreationTimestamp.Time, Node: pod.Spec.NodeName}
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		p.Controller = owner.UID
	}
	return p, true
}

func runsToAnEnd(pod *corev1.Pod) bool {
	return pod.Spec.RestartPolicy != "" && pod.Spec.RestartPolicy != corev1.RestartPolicyAlways
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// SortNotReady puts the oldest first.
func SortNotReady(pods []NotReadyPod) {
	slices.SortFunc(pods, func(a, b NotReadyPod) int {
		return cmp.Or(a.Created.Compare(b.Created), strings.Compare(a.Name, b.Name))
	})
}

// namedNotReady is how many of them are named.
const namedNotReady = 5

// notReadySince counts the pods that do not run and were created since the maintenance began:
// above all, what replaces those that were evicted. It names the oldest of them. Those on a
// node that is being drained are left out: they leave it, or are its work. So are those of a
// controller that has others that did not run before: that is not the maintenance's doing, but
// where no node takes them, there is no room for more.
func (p *pass) notReadySince(m *maintained) (count int, names []string) {
	if limit := m.Spec.Rollout.MaxPendingPods; limit != nil && *limit == 0 {
		return 0, nil
	}
	p.decision.CountPending = true
	began := latest(m.began(slipwayv1alpha1.StageDrain), m.notBefore())
	if began.IsZero() {
		return 0, nil
	}
	broken := p.brokenBefore(began)
	for _, pod := range p.facts.NotReady {
		if pod.Created.Before(began) || p.drainsNode(pod.Node) || pod.Node != "" && broken[pod.Controller] {
			continue
		}
		count++
		if len(names) < namedNotReady {
			names = append(names, pod.Name)
		}
	}
	return count, names
}

// drainsNode says whether the node is being drained.
func (p *pass) drainsNode(name string) bool {
	n := p.byName[name]
	return n != nil && n.drain != nil && claimed(n.drain)
}

// brokenBefore are the controllers of pods that are older than that, and do not run although
// their node does.
func (p *pass) brokenBefore(at time.Time) map[types.UID]bool {
	broken := map[types.UID]bool{}
	for _, pod := range p.facts.NotReady {
		n := p.byName[pod.Node]
		if pod.Created.Before(at) && pod.Controller != "" && n != nil && n.exists() && n.ready() && !p.drainsNode(pod.Node) {
			broken[pod.Controller] = true
		}
	}
	return broken
}
