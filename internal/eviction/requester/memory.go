// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// unanswered is the time for which a pod counts as a pod without responders: a new answer takes API requests.
	unanswered = time.Minute
	// The backoff between requests that all responders have failed.
	againBase = time.Minute
	againCap  = 16 * time.Minute
)

// memory has the notes about the pods that events name, by event, while the event names them.
type memory struct {
	mu     sync.Mutex
	events map[types.UID]map[podReference]Note
}

func newMemory() *memory { return &memory{events: map[types.UID]map[podReference]Note{}} }

func (m *memory) settle(event types.UID, pod podReference) {
	m.change(event, pod, func(n *Note) { n.Settled = true })
}

// wait begins a wait for a pod.
func (m *memory) wait(event types.UID, s Wait, now time.Time) {
	m.change(event, s.Pod, func(n *Note) {
		n.Request, n.Until = s.Request, now.Add(unanswered)
		if s.Request != "" {
			n.Until = now.Add(min(againBase<<min(n.Failures, 10), againCap))
			n.Failures++
		}
	})
}

func (m *memory) change(event types.UID, pod podReference, f func(*Note)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.events[event] == nil {
		m.events[event] = map[podReference]Note{}
	}
	n := m.events[event][pod]
	f(&n)
	m.events[event][pod] = n
}

func (m *memory) of(event types.UID) map[podReference]Note {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.events[event])
}

// due returns the end of the event's next wait after now; zero without a wait.
func (m *memory) due(event types.UID, now time.Time) (next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.events[event] {
		if n.Until.After(now) && (next.IsZero() || n.Until.Before(next)) {
			next = n.Until
		}
	}
	return next
}

// keep drops the notes about other pods: a node may name any number of pods, one after the other.
func (m *memory) keep(event types.UID, named []podReference) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept := map[podReference]Note{}
	for _, pod := range named {
		if n, found := m.events[event][pod]; found {
			kept[pod] = n
		}
	}
	m.events[event] = kept
	if len(kept) == 0 {
		delete(m.events, event)
	}
}
