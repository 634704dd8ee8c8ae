// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// settled are the pods with which events are done, by event: they are not looked at again.
type settled struct {
	mu   sync.Mutex
	pods map[types.UID]map[lifecyclev1alpha1.PodReference]bool
}

func newSettled() *settled {
	return &settled{pods: map[types.UID]map[lifecyclev1alpha1.PodReference]bool{}}
}

func (s *settled) add(event types.UID, pod lifecyclev1alpha1.PodReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.pods[event] == nil {
		s.pods[event] = map[lifecyclev1alpha1.PodReference]bool{}
	}
	s.pods[event][pod] = true
}

// of are the pods with which an event is done.
func (s *settled) of(event types.UID) map[lifecyclev1alpha1.PodReference]bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.pods[event])
}

// forget is for events that are over.
func (s *settled) forget(event types.UID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.pods, event)
}
