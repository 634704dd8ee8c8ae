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

// overdueAfter is the time from the end of a pod's grace period until the pod becomes a blocker: the kubelet still has to
// unmount volumes and to confirm, and its clock may differ from this process's clock.
const overdueAfter = 10 * time.Second

// blockerKey identifies a blocker over time.
type blockerKey struct {
	pod    types.UID
	reason Reason
	by     string
}

// summary collects the blockers of one moment.
type summary struct {
	facts    facts
	blockers []Blocker
	left     []Blocker
	since    map[blockerKey]time.Time
	// moving counts the pods that make progress.
	moving int
}

// summarise returns the status, and the time at which the next pod will be overdue.
func summarise(leaving []leaver, left []stayer, paced *pacing, e ending, f facts) (Status, time.Time) {
	paced.since = map[blockerKey]time.Time{}
	s := &summary{facts: f, since: paced.since}
	s.drain(leaving, paced)
	for _, name := range e.volumes {
		s.blockers = append(s.blockers, s.blocker(nil, attached(name)))
	}
	for _, name := range e.abandoned {
		s.left = append(s.left, s.blocker(nil, attached(name)))
	}
	for _, stays := range left {
		s.left = append(s.left, s.blocker(stays.pod, stays.why))
	}
	wake := s.pods(leaving, paced)
	slices.SortStableFunc(s.blockers, compareBlockers)
	slices.SortStableFunc(s.left, compareBlockers)
	return Status{
		Total:      f.gone + len(leaving),
		Done:       f.gone,
		Moving:     s.moving,
		Blockers:   s.blockers,
		Left:       s.left,
		Reached:    e.reached,
		Static:     references(paced.statics),
		Overridden: f.overridden,
		Message:    headline(leaving, s, e, paced),
	}, wake
}

// pods adds the blockers of the pods, and returns the time at which the next of them will be overdue.
func (s *summary) pods(leaving []leaver, paced *pacing) (wake time.Time) {
	for _, l := range leaving {
		o := paced.holds[l.pod.UID]
		terminating := isTerminating(l.pod) && !isMirror(l.pod)
		if o == nil && terminating {
			var look time.Time
			o, look = s.ending(l, paced.turns)
			wake = earlier(wake, look)
		}
		switch {
		case o != nil:
			s.blockers = append(s.blockers, s.blocker(l.pod, o))
			if o.reason == AwaitingResponder {
				s.moving++
			}
		case isMirror(l.pod) && slices.Contains(paced.statics, l.pod), terminating, s.facts.tries[l.pod.UID].inFlight, paced.sendsFor(l.pod.UID):
			s.moving++
		}
	}
	return wake
}

// ending returns the obstacle of a terminating pod whose time is over, or the end of that time.
func (s *summary) ending(l leaver, turns map[types.UID]time.Time) (*obstacle, time.Time) {
	due := l.pod.DeletionTimestamp.Add(overdueAfter - s.facts.ahead)
	if !s.facts.now.Before(due) {
		return overdue(l.pod, s.facts), time.Time{}
	}
	if turn, came := turns[l.pod.UID]; came && l.behavior != WaitCompleted && l.timedOut(turn, s.facts.now) {
		return PodTimedOut.obstacle("", "the pod has been given %s and is still ending, within its grace period; the pods of later "+
			"steps leave meanwhile", l.deadline), due
	}
	return nil, due
}

func (s *summary) blocker(pod *corev1.Pod, o *obstacle) Blocker {
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
	return b
}

// drain adds the blockers of the drain as a whole.
func (s *summary) drain(leaving []leaver, paced *pacing) {
	f := s.facts
	for _, o := range f.reading {
		s.blockers = append(s.blockers, s.blocker(nil, &o))
	}
	braked := f.inFlight > 0 || len(paced.sends) > 0 || f.now.Before(f.brake.until)
	if braked && f.brake.obstacle != nil && slices.ContainsFunc(leaving, func(l leaver) bool { return !isTerminating(l.pod) }) {
		s.blockers = append(s.blockers, s.blocker(nil, f.brake.obstacle))
	}
	if o := f.node.obstacle(f.nodeName, len(leaving)); o != nil {
		s.blockers = append(s.blockers, s.blocker(nil, o))
	}
}

func (n nodeFacts) obstacle(name string, leaving int) *obstacle {
	switch {
	case !n.known, !n.exists && leaving == 0:
		return nil
	case !n.exists:
		return NodeGone.obstacle(name, "node %s does not exist, so the drain evicts no pod from it; the control plane removes its pods", name)
	case !n.unschedulable:
		return NodeNotCordoned.obstacle(name, "node %s is schedulable, so the drain evicts no pod from it", name)
	case !n.tainted && leaving == 0:
		return NodeTaintMissing.obstacle(name, "node %s is empty and cordoned but does not carry the taint %s", name, corev1.TaintNodeUnschedulable)
	default:
		return nil
	}
}

// overdue explains a pod that should have ended.
func overdue(pod *corev1.Pod, f facts) *obstacle {
	if names := pod.Finalizers; len(names) > 0 {
		by := strings.Join(slices.Sorted(slices.Values(names)), ", ")
		return &obstacle{Terminating, by, fmt.Sprintf("the pod's grace period is over, but it keeps the finalizers %s; their owners "+
			"must remove them", by)}
	}
	if !f.node.ready {
		return NodeNotReady.obstacle(f.nodeName, "the pod's grace period is over, but the kubelet of node %s does not report, so it is "+
			"unknown whether its containers have ended", f.nodeName)
	}
	return &obstacle{Terminating, "", "the pod's grace period is over, but the kubelet has not confirmed its end; look at its " +
		"containers and volumes on the node"}
}

func attached(volume string) *obstacle {
	return VolumeAttached.obstacle(volume, "volume %s is still attached, although no pod that uses it is left", volume)
}

func headline(leaving []leaver, s *summary, e ending, paced *pacing) string {
	f := s.facts
	gone := fmt.Sprintf("%d of %d pods gone", f.gone, f.gone+len(leaving))
	switch {
	case !f.podsKnown || !f.node.known:
		return "reading the node and its pods"
	case e.reached && f.request.Hold:
		return "targets reached and held: " + gone + remains(s.left)
	case e.reached:
		return "drained: " + gone + remains(s.left)
	case e.claims || len(e.volumes) > 0:
		return gone + ", waiting until their volumes are detached"
	case len(leaving) == 0:
		return gone + ", checking once more for pods"
	}
	ending, blocked := 0, map[types.NamespacedName]bool{}
	for _, l := range leaving {
		if isTerminating(l.pod) {
			ending++
		}
	}
	for _, b := range s.blockers {
		if b.Pod.Name != "" && b.Reason != AwaitingResponder {
			blocked[b.Pod] = true
		}
	}
	text := fmt.Sprintf("%s, %d terminating, %d blocked", gone, ending, len(blocked))
	if paced.left > 0 {
		text += fmt.Sprintf(", %d left to responders", paced.left)
	}
	if n := len(paced.fallen); n > 0 {
		text += fmt.Sprintf(", %d evicted although left to responders: no responder acts", n)
	}
	if paced.short {
		text += "; the machine stops before the end of all grace periods"
	}
	return text
}

// remains counts the pods and volumes that stay, for the last message of a drain.
func remains(left []Blocker) string {
	if len(left) == 0 {
		return ""
	}
	kinds := []struct {
		reason Reason
		text   string
	}{
		{PodSkipped, "%d skipped by rules"},
		{PodRecurring, "%d that return each time"},
		{StaticPodLeft, "%d static pods that must stay"},
		{VolumeAttached, "%d volumes still attached"},
	}
	counts := map[Reason]int{}
	for _, b := range left {
		counts[b.Reason]++
	}
	var parts []string
	for _, kind := range kinds {
		if n := counts[kind.reason]; n > 0 {
			parts = append(parts, fmt.Sprintf(kind.text, n))
		}
	}
	return "; left behind: " + strings.Join(parts, ", ")
}

func compareBlockers(a, b Blocker) int {
	return cmp.Or(
		cmp.Compare(a.Pod.Namespace, b.Pod.Namespace),
		cmp.Compare(a.Pod.Name, b.Pod.Name),
		cmp.Compare(a.Reason, b.Reason),
		cmp.Compare(a.By, b.By),
	)
}

// references returns references to pods, sorted by namespace and name.
func references(pods []*corev1.Pod) []PodReference {
	var all []PodReference
	for _, pod := range pods {
		all = append(all, PodReference{types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}, pod.UID})
	}
	slices.SortFunc(all, func(a, b PodReference) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
	})
	return all
}
