// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// naming is the memory of a pod that the drain leaves to responders.
type naming struct {
	// working: a responder is working on the pod. idle is the begin of the time without such a responder: the drain named the
	// pod, its Eviction appeared, or the last responder stopped. Zero: no responder could know of the pod.
	working bool
	idle    time.Time
	// eviction is the last Eviction that ran.
	eviction types.UID
	// before is the Eviction that had failed before the drain named the pod: it does not count.
	before types.UID
}

// due returns the end of the patience. Zero: the patience has not begun.
func (n naming) due() time.Time {
	if n.idle.IsZero() {
		return time.Time{}
	}
	return n.idle.Add(ResponderPatience)
}

// leave reports whether the drain leaves a pod of the current step to responders, and the obstacle meanwhile.
func (p *pacing) leave(l leaver) (left bool, hold *obstacle, wake time.Time) {
	f, r := p.facts, p.facts.responders.Pods[l.pod.UID]
	switch {
	case r.works(f.now):
		p.name(l.pod, r)
		return true, awaits(r), r.silentAt()
	case !f.responders.Known && f.now.Before(f.respondersLate):
		return true, nil, f.respondersLate
	case !f.responders.Known && f.mayBeLeft(l.pod):
		return true, unreadable(readEvictions, cmp.Or(f.responders.Err, errNotRead)), time.Time{}
	case !f.isLeft(l.pod, r):
		return false, nil, time.Time{}
	case !f.responders.Served && f.request.mode() == ModeEvictionRequest:
		return true, EvictionAPIMissing.obstacle("", "the pod is left to responders, and the server has no Evictions "+
			"(lifecycle.k8s.io/v1alpha1) that the drain may read"), time.Time{}
	case !f.responders.Served:
		return false, nil, time.Time{}
	}
	return p.await(l, r, p.name(l.pod, r))
}

// isLeft reports whether the mode leaves the pod to responders, if it has any.
func (f facts) isLeft(pod *corev1.Pod, r Response) bool {
	mode := f.request.mode()
	return !isNeverLeft(pod) && (mode == ModeEvictionRequest || mode == ModeAuto && r.Own)
}

// mayBeLeft reports whether a responder may be working on the pod, as long as responders are unknown.
func (f facts) mayBeLeft(pod *corev1.Pod) bool {
	r, read := f.responders.Pods[pod.UID]
	return !isNeverLeft(pod) && (f.request.mode() == ModeEvictionRequest || !read || r.Own)
}

// isNeverLeft reports that no mode leaves the pod to responders.
func isNeverLeft(pod *corev1.Pod) bool { return isFinished(pod) || typeOf(pod) != PodTypeDefault }

// await waits for a responder, and then for the result of its work.
func (p *pacing) await(l leaver, r Response, n naming) (left bool, hold *obstacle, wake time.Time) {
	now, due := p.facts.now, n.due()
	patient := due.IsZero() || now.Before(due)
	switch {
	case r.State == EvictionFailed && r.UID != n.before:
		return p.fallBack(l, respondersFailed(r), fmt.Sprintf("Eviction %s has failed (%s)", r.Eviction, short(r.Message)))
	case r.alive(now):
		return true, awaits(r), r.silentAt()
	case r.State == EvictionRunning && patient:
		p.idles[l.pod.UID] = true
		return true, awaits(r), due
	case r.active() && !r.silent(now) && p.facts.request.mode() == ModeEvictionRequest:
		return true, awaits(r), r.silentAt() // the eviction controller replaces a silent responder
	case patient:
		p.idles[l.pod.UID] = true
		return true, nil, due
	case r.State == EvictionFailed: // before the drain named the pod, and no newer Eviction has followed
		return p.fallBack(l, respondersFailed(r), unanswered(r))
	default:
		return p.fallBack(l, noResponder(r), unanswered(r))
	}
}

// fallBack makes the drain evict a pod without a working responder, unless the request forbids that.
func (p *pacing) fallBack(l leaver, matter *obstacle, why string) (left bool, hold *obstacle, wake time.Time) {
	if p.facts.request.mode() == ModeEvictionRequest {
		return true, matter, time.Time{}
	}
	p.fallen[l.pod.UID] = why + ", so the drain evicts the pod itself; "
	return false, nil, time.Time{}
}

// name records that a pod is left to responders, if the mode allows that.
func (p *pacing) name(pod *corev1.Pod, r Response) naming {
	if p.facts.request.mode() == ModeEviction || isNeverLeft(pod) {
		return naming{}
	}
	return p.remember(pod, r)
}

func (p *pacing) remember(pod *corev1.Pod, r Response) naming {
	n, known := p.named[pod.UID]
	if !known && r.State == EvictionFailed {
		n.before = r.UID
	}
	working := r.works(p.facts.now) || r.alive(p.facts.now)
	appeared := r.State == EvictionRunning && r.UID != n.eviction
	if n.working && !working || appeared {
		n.idle = time.Time{}
	}
	if appeared {
		n.eviction = r.UID
	}
	n.working = working
	p.named[pod.UID] = n
	return n
}

// nameImpossible names a pod whose budget never allows its eviction: a responder may help.
func (p *pacing) nameImpossible(l leaver, hold *obstacle) {
	if hold != nil && hold.reason == BudgetImpossible && p.facts.request.mode() == ModeAuto && p.facts.responders.Served {
		p.name(l.pod, p.facts.responders.Pods[l.pod.UID])
	}
}

// keepNamed keeps the names of the present pods, even of terminating pods, so that their Evictions run to their end. After a
// restart the names are unknown: keepNamed names all pods with a running Eviction, even of later steps, so that the first answer
// withdraws no request of an earlier run.
func (p *pacing) keepNamed(leaving []leaver) {
	f := p.facts
	if f.responders.Known && !f.responders.Served {
		return
	}
	for _, l := range leaving {
		if n, named := f.named[l.pod.UID]; named {
			p.named[l.pod.UID] = n
		}
		r := f.responders.Pods[l.pod.UID]
		if !f.namedComplete && r.State == EvictionRunning && !hasDaemonSet(l.pod) && f.request.mode() != ModeEviction {
			p.remember(l.pod, r)
		}
	}
}

// namedPods returns the pods that are left to responders. It is never nil: nil means that they are unknown.
func namedPods(leaving []leaver, named map[types.UID]naming) []PodReference {
	var pods []*corev1.Pod
	for _, l := range leaving {
		if _, is := named[l.pod.UID]; is {
			pods = append(pods, l.pod)
		}
	}
	return append([]PodReference{}, references(pods)...)
}

// complete reports whether all reads that decide about the named pods have had an answer, if only an error. Fewer names before
// that would withdraw requests of an earlier run.
func (f facts) complete(leaving []leaver) bool {
	if !f.podsKnown || !f.node.known || !f.responders.Known {
		return false
	}
	for _, l := range leaving {
		namespace := l.pod.Namespace
		_, known := f.budgets[namespace]
		if !known && !f.budgetsBad[namespace] || f.awaitsRules(namespace) {
			return false
		}
	}
	return true
}

// passedOn is the number of named pods that the requester sees: the first by namespace and name.
const passedOn = 500

// beginPatience begins the patience with the responders, which can know of the pods from now on.
func (p *pacing) beginPatience(leaving []leaver) {
	if !p.namedComplete {
		return
	}
	for i, pod := range namedPods(leaving, p.named) {
		n := p.named[pod.UID]
		if !n.idle.IsZero() || i >= passedOn && n.eviction == "" {
			continue
		}
		n.idle = p.facts.now
		p.named[pod.UID] = n
		if p.idles[pod.UID] {
			p.wake = earlier(p.wake, n.due())
		}
	}
}

func awaits(r Response) *obstacle {
	if r.Responder == "" {
		return AwaitingResponder.obstacle(r.Eviction, "Eviction %s exists, and none of its responders is active yet", r.Eviction)
	}
	text := "responder " + r.Responder + " is working"
	if !r.Since.IsZero() {
		text += " since " + r.Since.UTC().Format(time.RFC3339)
	}
	if !r.Heartbeat.IsZero() {
		text += ", last heartbeat at " + r.Heartbeat.UTC().Format(time.RFC3339)
	}
	if r.Message != "" {
		text += ": " + short(r.Message)
	}
	return AwaitingResponder.obstacle(r.Eviction, "%s", text)
}

func noResponder(r Response) *obstacle {
	return ResponderMissing.obstacle(r.Eviction, "the pod is left to responders, and %s", unanswered(r))
}

// unanswered describes the silence of the responders.
func unanswered(r Response) string {
	if r.active() && !r.heard().IsZero() {
		return fmt.Sprintf("responder %s has been silent since %s", r.Responder, r.heard().UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("no responder has acted within %s", ResponderPatience)
}

func respondersFailed(r Response) *obstacle {
	return RespondersFailed.obstacle(r.Eviction, "Eviction %s has failed: %s", r.Eviction, short(r.Message))
}

// short limits a text of another program to one line of some length.
func short(text string) string { return shorten(strings.Join(strings.Fields(text), " "), 200) }
