// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/responderkit"
)

// turn is one run for an Eviction. But for over, it belongs to its namespace's goroutine.
type turn struct {
	eviction responderkit.Eviction
	report   func(message string)
	since    time.Time
	givenUp  string
	said     string
	over     chan struct{}
}

// say reports what has not been said.
func (t *turn) say(message string) {
	if t.said != message {
		t.said = message
		t.report(message)
	}
}

// complete ends it, with a last word.
func (t *turn) complete(message string) {
	t.say(message)
	close(t.over)
}

func (t *turn) facts() *surge.Turn { return &surge.Turn{Since: t.since, GivenUp: t.givenUp} }

// turns are those of a namespace, by the UID of the pod. The kit has at most one for a pod.
type turns struct {
	mu sync.Mutex
	of map[types.UID]*turn
}

func (t *turns) add(one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[one.eviction.PodUID] = one
}

// remove removes a turn, if it is there still.
func (t *turns) remove(one *turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.of[one.eviction.PodUID] == one {
		delete(t.of, one.eviction.PodUID)
	}
}

func (t *turns) get(pod types.UID) *turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[pod]
}

func (t *turns) all() []*turn {
	t.mu.Lock()
	defer t.mu.Unlock()
	all := make([]*turn, 0, len(t.of))
	for _, one := range t.of {
		all = append(all, one)
	}
	return all
}
