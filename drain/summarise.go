// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// overdueAfter is how long after its grace period a pod becomes a blocker: the kubelet still has to unmount volumes and
// to confirm, and its clock may differ from ours.
const overdueAfter = 10 * time.Second

// blockerKey is what makes a blocker the same one as before.
type blockerKey struct {
	pod    types.UID
	reason Reason
	by     string
}

// summary collects the blockers of one moment.
type summary struct {
	facts    facts
	blockers []Blocker
	since    map[blockerKey]time.Time
}

// summarise says how far the drain is. It also says when a pod will be overdue.
func summarise(pods []*corev1.Pod, holds map[types.UID]*obstacle, f facts) (Status, map[blockerKey]time.Time, time.Time) {
	s := &summary{facts: f, since: map[blockerKey]time.Time{}}
	for _, o := range ofDrain(pods, f) {
		s.add(nil, &o)
	}
	var wake time.Time
	for _, pod := range pods {
		if !isTerminating(pod) {
			s.add(pod, holds[pod.UID])
			continue
		}
		if due := pod.DeletionTimestamp.Add(overdueAfter); f.now.Before(due) {
			wake = earlier(wake, due)
			continue
		}
		s.add(pod, overdue(pod, f))
	}
	slices.SortStableFunc(s.blockers, compareBlockers)
	return Status{
		Total:    f.gone + len(pods),
		Done:     f.gone,
		Blockers: s.blockers,
		Message:  headline(pods, s.blockers, f),
	}, s.since, wake
}

func (s *summary) add(pod *corev1.Pod, o *obstacle) {
	if o == nil {
		return
	}
	b := Blocker{Reason: o.reason, By: o.by, Message: o.message, Since: s.facts.now.Round(0)}
	key := blockerKey{reason: o.reason, by: o.by}
	if pod != nil {
		b.Pod = types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
		key.pod = pod.UID
	}
	if first, ok := s.facts.since[key]; ok {
		b.Since = first
	}
	s.since[key] = b.Since
	s.blockers = append(s.blockers, b)
}

// ofDrain returns what holds up the drain as a whole.
func ofDrain(pods []*corev1.Pod, f facts) []obstacle {
	all := slices.Clone(f.reading)
	if f.brake.obstacle != nil && slices.ContainsFunc(pods, func(p *corev1.Pod) bool { return !isTerminating(p) }) {
		all = append(all, *f.brake.obstacle)
	}
	switch n := f.node; {
	case !n.known:
	case !n.exists:
		if len(pods) > 0 {
			all = append(all, obstacle{NodeGone, f.nodeName, fmt.Sprintf("node %s does not exist, so nothing is evicted from it; "+
				"the pod garbage collector of kube-controller-manager removes its pods", f.nodeName)})
		}
	case !n.unschedulable:
		all = append(all, obstacle{NodeNotCordoned, f.nodeName, fmt.Sprintf("node %s is schedulable, so nothing is evicted from "+
			"it; cordon it, and look who returned it", f.nodeName)})
	case !n.tainted && len(pods) == 0:
		all = append(all, obstacle{NodeTaintMissing, f.nodeName, fmt.Sprintf("node %s is empty and cordoned but does not carry "+
			"the taint %s; kube-controller-manager adds it, so look there if this stays", f.nodeName, corev1.TaintNodeUnschedulable)})
	}
	return all
}

// overdue says why a pod that should have ended may still be there.
func overdue(pod *corev1.Pod, f facts) *obstacle {
	if names := pod.Finalizers; len(names) > 0 {
		by := strings.Join(slices.Sorted(slices.Values(names)), ", ")
		return &obstacle{Terminating, by, fmt.Sprintf("the pod's grace period is over, but it keeps the finalizers %s; whoever "+
			"set them must remove them", by)}
	}
	if !f.node.ready {
		return &obstacle{NodeNotReady, f.nodeName, fmt.Sprintf("the pod's grace period is over, but the kubelet of node %s does "+
			"not report, so nobody confirms that its containers have ended; bring the node back, or delete the pod by force "+
			"once the machine is certainly off", f.nodeName)}
	}
	return &obstacle{Terminating, "", "the pod's grace period is over, but the kubelet has not confirmed its end; look at its " +
		"containers and volumes on the node"}
}

func headline(pods []*corev1.Pod, blockers []Blocker, f facts) string {
	if !f.podsKnown || !f.node.known {
		return "reading the node and its pods"
	}
	if len(pods) == 0 {
		return fmt.Sprintf("%d of %d pods gone, making sure that none is left", f.gone, f.gone)
	}
	ending, blocked := 0, map[types.NamespacedName]bool{}
	for _, pod := range pods {
		if isTerminating(pod) {
			ending++
		}
	}
	for _, b := range blockers {
		if b.Pod.Name != "" {
			blocked[b.Pod] = true
		}
	}
	return fmt.Sprintf("%d of %d pods gone, %d terminating, %d held up", f.gone, f.gone+len(pods), ending, len(blocked))
}

func compareBlockers(a, b Blocker) int {
	return cmp.Or(
		cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.By, b.By),
	)
}
