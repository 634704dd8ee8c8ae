// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// naming is what a drain remembers of a pod that it leaves to responders.
type naming struct {
	// working: a responder is at work on it. idle is since when none is, although one could be: since the drain named the
	// pod, an Eviction of it was there, or the last responder has stopped. Zero: no responder could know of it.
	working bool
	idle    time.Time
	// eviction is the last one that ran.
	eviction types.UID
	// before is the Eviction that had failed when the pod was named: it says nothing of what comes now.
	before types.UID
	// owner is its controller, if it has one. sent: it has been counted as one that was sent away, or is not to be.
	owner types.UID
	sent  bool
}

func newNaming(pod *corev1.Pod, r Response) naming {
	var n naming
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		n.owner = owner.UID
	}
	if r.State == EvictionFailed {
		n.before = r.UID
	}
	return n
}

// leave reports whether a pod whose turn has come is left to responders, and what is to be said of it meanwhile.
func (p *pacing) leave(l leaver) (left bool, hold *obstacle, wake time.Time) {
	f, r := p.facts, p.facts.responders.Pods[l.pod.UID]
	switch {
	case r.works(f.now):
		p.name(l.pod, r)
		return true, awaits(r), r.silentAt()
	case !f.responders.Known && f.now.Before(f.respondersLate):
		return true, nil, f.respondersLate
	case !f.responders.Known && f.mayBeLeft(l.pod):
		o := unreadable(readEvictions, cmp.Or(f.responders.Err, errNotRead))
		return true, &o, time.Time{}
	case !f.isLeft(l.pod, r):
		return false, nil, time.Time{}
	case !f.responders.Served && f.request.mode() == ModeEvictionRequest:
		return true, noEvictionAPI(), time.Time{}
	case !f.responders.Served:
		return false, nil, time.Time{}
	}
	return p.await(l, r, p.name(l.pod, r))
}

// isLeft reports whether the pod is left to responders, if there are any.
func (f facts) isLeft(pod *corev1.Pod, r Response) bool {
	if isNobodys(pod) {
		return false
	}
	mode := f.request.mode()
	return mode == ModeEvictionRequest || mode == ModeAuto && r.Own
}

// mayBeLeft reports whether a responder may be at work on the pod, as long as that is not known.
func (f facts) mayBeLeft(pod *corev1.Pod) bool {
	if isNobodys(pod) {
		return false
	}
	r, asked := f.responders.Pods[pod.UID]
	return f.request.mode() == ModeEvictionRequest || !asked || r.Own
}

// isNobodys reports that a pod is never left to responders.
func isNobodys(pod *corev1.Pod) bool { return isFinished(pod) || typeOf(pod) != PodTypeDefault }

// await waits for a responder, and then for the result of its work.
func (p *pacing) await(l leaver, r Response, n naming) (left bool, hold *obstacle, wake time.Time) {
	now, due := p.facts.now, n.due()
	patient := due.IsZero() || now.Before(due)
	switch {
	case r.State == EvictionFailed && r.UID != n.before:
		return p.fallBack(l, respondersFailed(r), fmt.Sprintf("Eviction %s has failed (%s), so the drain evicts the pod itself; ",
			r.Eviction, short(r.Message)))
	case r.alive(now):
		return true, awaits(r), r.silentAt()
	case r.State == EvictionRunning && patient:
		p.idles[l.pod.UID] = true
		return true, awaits(r), due
	case r.active() && !r.silent(now) && p.facts.request.mode() == ModeEvictionRequest:
		return true, awaits(r), r.silentAt() // the API takes the turn from a silent responder
	case patient:
		p.idles[l.pod.UID] = true
		return true, nil, due
	}
	matter := nobodyResponds(r)
	if r.State == EvictionFailed { // before the pod was named, and nobody has asked again
		matter = respondersFailed(r)
	}
	return p.fallBack(l, matter, unanswered(r)+", so the drain evicts the pod itself; ")
}

// fallBack has the drain evict a pod to which no responder comes, unless the request forbids that.
func (p *pacing) fallBack(l leaver, matter *obstacle, why string) (left bool, hold *obstacle, wake time.Time) {
	if p.facts.request.mode() == ModeEvictionRequest {
		return true, matter, time.Time{}
	}
	p.fallen[l.pod.UID] = why
	return false, nil, time.Time{}
}

// name records that a pod is left to responders, if it may be.
func (p *pacing) name(pod *corev1.Pod, r Response) naming {
	if p.facts.request.mode() == ModeEviction || isNobodys(pod) {
		return naming{}
	}
	return p.remember(pod, r)
}

func (p *pacing) remember(pod *corev1.Pod, r Response) naming {
	n, known := p.named[pod.UID]
	if !known {
		n = newNaming(pod, r)
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

// nameImpossible names a pod that its budget never lets go.
func (p *pacing) nameImpossible(l leaver, hold *obstacle) {
	if hold != nil && hold.reason == BudgetImpossible && p.facts.request.mode() == ModeAuto && p.facts.responders.Served {
		p.name(l.pod, p.facts.responders.Pods[l.pod.UID])
	}
}

// keepNamed keeps the names of pods that are still there: also of those that are terminating, so that their Evictions end
// as what they are. What an earlier run has named is not remembered. So that nothing is withdrawn of it with the first
// answer, all pods are named whose Evictions run, whether or not their turn has come.
func (p *pacing) keepNamed(steps [][]leaver) {
	if p.facts.responders.Known && !p.facts.responders.Served {
		return
	}
	for _, step := range steps {
		for _, l := range step {
			if n, named := p.facts.named[l.pod.UID]; named {
				p.named[l.pod.UID] = n
			}
			r := p.facts.responders.Pods[l.pod.UID]
			if !p.facts.namedComplete && r.State == EvictionRunning && !hasDaemonSet(l.pod) && p.facts.request.mode() != ModeEviction {
				p.remember(l.pod, r)
			}
		}
	}
}

// explain says of a pod that the drain evicts itself, although it was left to responders, why that is so.
func (p *pacing) explain(l leaver, hold *obstacle) *obstacle {
	why, fallen := p.fallen[l.pod.UID]
	if !fallen || hold == nil {
		return hold
	}
	return &obstacle{hold.reason, hold.by, why + hold.message}
}

// namedPods lists the pods that are left to responders.
func namedPods(leaving []leaver, named map[types.UID]naming) []PodReference {
	var pods []*corev1.Pod
	for _, l := range leaving {
		if _, is := named[l.pod.UID]; is {
			pods = append(pods, l.pod)
		}
	}
	return append([]PodReference{}, references(pods)...) // never nil: nil says that it is not known
}

// complete reports whether all has been read that says which pods are left to responders. To name fewer pods before that
// would withdraw requests that an earlier run has caused. What cannot be read for some time to come does not count.
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

func awaits(r Response) *obstacle {
	if r.Responder == "" {
		return &obstacle{AwaitingResponder, r.Eviction, AwaitingResponder.advise("Eviction " + r.Eviction + " is there, and none of its " +
			"responders is active yet")}
	}
	text := "responder " + r.Responder + " is at work"
	if !r.Since.IsZero() {
		text += " since " + r.Since.UTC().Format(time.RFC3339)
	}
	if !r.Heartbeat.IsZero() {
		text += ", last heartbeat at " + r.Heartbeat.UTC().Format(time.RFC3339)
	}
	if r.Message != "" {
		text += ": " + short(r.Message)
	}
	return &obstacle{AwaitingResponder, r.Eviction, AwaitingResponder.advise(text)}
}

func nobodyResponds(r Response) *obstacle {
	return &obstacle{ResponderMissing, r.Eviction, ResponderMissing.advise("the pod is left to responders, and " + unanswered(r))}
}

// unanswered says that nobody has responded, or who has not been heard of any more.
func unanswered(r Response) string {
	if r.active() && !r.heard().IsZero() {
		return fmt.Sprintf("responder %s has not been heard of since %s", r.Responder, r.heard().UTC().Format(time.RFC3339))
	}
	return fmt.Sprintf("nobody has responded within %s", ResponderPatience)
}

func respondersFailed(r Response) *obstacle {
	return &obstacle{RespondersFailed, r.Eviction, RespondersFailed.advise(fmt.Sprintf("Eviction %s has failed: %s", r.Eviction, short(r.Message)))}
}

func noEvictionAPI() *obstacle {
	return &obstacle{reason: EvictionAPIMissing, message: EvictionAPIMissing.advise("the pod is left to responders, and the server has no " +
		"Evictions (lifecycle.k8s.io/v1alpha1) that the drain may read")}
}

// short keeps a text that another program wrote to one line of some length.
func short(text string) string {
	const enough = 200
	text = strings.Join(strings.Fields(text), " ")
	if len(text) <= enough {
		return text
	}
	return strings.ToValidUTF8(text[:enough], "") + "…"
}

// passedOn is how many of the named pods the requester sees: the first by namespace and name.
const passedOn = 500

// due is when the patience ends. Zero: it has not begun.
func (n naming) due() time.Time {
	if n.idle.IsZero() {
		return time.Time{}
	}
	return n.idle.Add(ResponderPatience)
}

// beginPatience begins to wait for the responders, which can know of the pods from now on.
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
