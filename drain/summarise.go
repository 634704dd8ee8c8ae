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
	left     []Blocker
	since    map[blockerKey]time.Time
	// moving counts the pods that are on their way.
	moving int
}

// summarise says how far the drain is. It also says when a pod will be overdue.
func summarise(leaving []leaver, left []stayer, paced *pacing, e ending, f facts) (Status, map[blockerKey]time.Time, time.Time) {
	s := &summary{facts: f, since: map[blockerKey]time.Time{}}
	for _, o := range ofDrain(leaving, f) {
		s.blockers = append(s.blockers, s.blocker(nil, o))
	}
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
	}, s.since, wake
}

// pods adds what holds each of the pods, and says when one of them will be overdue.
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
			s.blockers = append(s.blockers, s.blocker(l.pod, *o))
			if o.reason == AwaitingResponder {
				s.moving++
			}
		case isMirror(l.pod) && slices.Contains(paced.statics, l.pod), terminating, s.facts.tries[l.pod.UID].inFlight, paced.sendsFor(l.pod.UID):
			s.moving++
		}
	}
	return wake
}

// ending says why a pod that is terminating takes longer than it should.
func (s *summary) ending(l leaver, turns map[types.UID]time.Time) (*obstacle, time.Time) {
	due := l.pod.DeletionTimestamp.Add(overdueAfter - s.facts.ahead)
	if !s.facts.now.Before(due) {
		return overdue(l.pod, s.facts), time.Time{}
	}
	if turn, came := turns[l.pod.UID]; came && l.behavior != WaitCompleted && l.timedOut(turn, s.facts.now) {
		return &obstacle{reason: PodTimedOut, message: PodTimedOut.advise(fmt.Sprintf("the pod has been given %s and is still "+
			"ending, within its grace period; the pods of later steps leave meanwhile", l.deadline))}, due
	}
	return nil, due
}

func (s *summary) blocker(pod *corev1.Pod, o obstacle) Blocker {
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

// ofDrain returns what holds up the drain as a whole.
func ofDrain(leaving []leaver, f facts) []obstacle {
	all := slices.Clone(f.reading)
	if f.brake.obstacle != nil && (f.inFlight > 0 || f.now.Before(f.brake.until)) && slices.ContainsFunc(leaving, func(l leaver) bool { return !isTerminating(l.pod) }) {
		all = append(all, *f.brake.obstacle)
	}
	switch n := f.node; {
	case !n.known:
	case !n.exists:
		if len(leaving) > 0 {
			all = append(all, obstacle{NodeGone, f.nodeName, NodeGone.advise(fmt.Sprintf("node %s does not exist, so nothing is evicted "+
				"from it; the control plane removes its pods", f.nodeName))})
		}
	case !n.unschedulable:
		all = append(all, obstacle{NodeNotCordoned, f.nodeName, NodeNotCordoned.advise("node " + f.nodeName + " is schedulable, so nothing " +
			"is evicted from it")})
	case !n.tainted && len(leaving) == 0:
		all = append(all, obstacle{NodeTaintMissing, f.nodeName, NodeTaintMissing.advise(fmt.Sprintf("node %s is empty and cordoned but "+
			"does not carry the taint %s", f.nodeName, corev1.TaintNodeUnschedulable))})
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
		return &obstacle{NodeNotReady, f.nodeName, NodeNotReady.advise(fmt.Sprintf("the pod's grace period is over, but the kubelet of "+
			"node %s does not report, so nobody confirms that its containers have ended", f.nodeName))}
	}
	return &obstacle{Terminating, "", "the pod's grace period is over, but the kubelet has not confirmed its end; look at its " +
		"containers and volumes on the node"}
}

func attached(volume string) obstacle {
	return obstacle{VolumeAttached, volume, VolumeAttached.advise("volume " + volume + " is still attached, although no pod that uses it " +
		"is left")}
}

func headline(leaving []leaver, s *summary, e ending, paced *pacing) string {
	f := s.facts
	switch {
	case !f.podsKnown || !f.node.known:
		return "reading the node and its pods"
	case e.reached && f.request.Hold:
		return fmt.Sprintf("targets reached and held: %d of %d pods gone%s", f.gone, f.gone, remains(s.left))
	case e.reached:
		return fmt.Sprintf("drained: %d of %d pods gone%s", f.gone, f.gone, remains(s.left))
	case e.claims || len(e.volumes) > 0:
		return fmt.Sprintf("%d of %d pods gone, waiting until their volumes are detached", f.gone, f.gone)
	case len(leaving) == 0:
		return fmt.Sprintf("%d of %d pods gone, making sure that none is left", f.gone, f.gone)
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
	text := fmt.Sprintf("%d of %d pods gone, %d terminating, %d held up", f.gone, f.gone+len(leaving), ending, len(blocked))
	if paced.left > 0 {
		text += fmt.Sprintf(", %d left to responders", paced.left)
	}
	if n := len(paced.fallen); n > 0 {
		text += fmt.Sprintf(", %d evicted although left to responders: nobody responds", n)
	}
	return text
}

// remains counts what stays on the node, for the last message of a drain.
func remains(left []Blocker) string {
	if len(left) == 0 {
		return ""
	}
	kinds := []struct {
		reason Reason
		text   string
	}{
		{PodSkipped, "%d skipped by rules"},
		{PodRecurring, "%d that come back each time"},
		{StaticPodLeft, "%d static pods that are not to be taken away"},
		{VolumeAttached, "%d volumes still attached"},
	}
	var parts []string
	for _, kind := range kinds {
		n := 0
		for _, b := range left {
			if b.Reason == kind.reason {
				n++
			}
		}
		if n > 0 {
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
