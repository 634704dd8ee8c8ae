// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

const (
	// unanswered is how long a pod counts as one without responders: finding out takes API requests.
	unanswered = time.Minute
	// The backoff between requests that all responders have failed.
	againBase = time.Minute
	againCap  = 16 * time.Minute
)

// pods is the memory of the pods that events name, by event, for as long as they are named.
type pods struct {
	mu     sync.Mutex
	events map[types.UID]map[lifecyclev1alpha1.PodReference]note
}

// note is the memory of one pod.
type note struct {
	settled bool // the event is done with the pod
	waits   bool
	until   time.Time
	request types.UID // that failed last
	times   int       // that one did
}

func newPods() *pods {
	return &pods{events: map[types.UID]map[lifecyclev1alpha1.PodReference]note{}}
}

func (p *pods) settle(event types.UID, pod lifecyclev1alpha1.PodReference) {
	p.change(event, pod, func(n *note) { n.settled = true })
}

// wait begins a while in which a pod is left alone.
func (p *pods) wait(event types.UID, s Wait, now time.Time) {
	p.change(event, s.Pod, func(n *note) {
		n.waits, n.request, n.until = true, s.Request, now.Add(unanswered)
		if s.Request != "" {
			n.until = now.Add(min(againBase<<min(n.times, 10), againCap))
			n.times++
		}
	})
}

func (p *pods) change(event types.UID, pod lifecyclev1alpha1.PodReference, f func(*note)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.events[event] == nil {
		p.events[event] = map[lifecyclev1alpha1.PodReference]note{}
	}
	n := p.events[event][pod]
	f(&n)
	p.events[event][pod] = n
}

// of returns the pods that an event is done with, and those that it leaves alone for a while.
func (p *pods) of(event types.UID, now time.Time) (settled map[lifecyclev1alpha1.PodReference]bool, waits map[lifecyclev1alpha1.PodReference]Waiting) {
	p.mu.Lock()
	defer p.mu.Unlock()
	settled, waits = map[lifecyclev1alpha1.PodReference]bool{}, map[lifecyclev1alpha1.PodReference]Waiting{}
	for pod, n := range p.events[event] {
		if n.settled {
			settled[pod] = true
		}
		if n.waits {
			waits[pod] = Waiting{Request: n.request, Over: !now.Before(n.until)}
		}
	}
	return settled, waits
}

// due returns when the next wait of an event ends, after now. Zero: there is none.
func (p *pods) due(event types.UID, now time.Time) (next time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.events[event] {
		if n.waits && n.until.After(now) && (next.IsZero() || n.until.Before(next)) {
			next = n.until
		}
	}
	return next
}

// keep forgets the pods that the event does not name any more: a node may name any number of pods, one after
// the other.
func (p *pods) keep(event types.UID, named []lifecyclev1alpha1.PodReference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	kept := map[lifecyclev1alpha1.PodReference]note{}
	for _, pod := range named {
		if n, noted := p.events[event][pod]; noted {
			kept[pod] = n
		}
	}
	p.events[event] = kept
	if len(kept) == 0 {
		delete(p.events, event)
	}
}
