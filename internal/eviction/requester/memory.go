// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"sync"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// memory is what has been written and the watch has not shown yet. Without it, what a late
// watch shows would be asked for again.
type memory struct {
	mu       sync.Mutex
	requests map[types.UID]*evictionv1alpha1.EvictionRequest
}

func newMemory() *memory {
	return &memory{requests: map[types.UID]*evictionv1alpha1.EvictionRequest{}}
}

// keep remembers what the server answered to a write.
func (m *memory) keep(r *evictionv1alpha1.EvictionRequest) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.requests[r.UID] = r
}

// deleted remembers that a request is on its way out.
func (m *memory) deleted(r *evictionv1alpha1.EvictionRequest) {
	r = r.DeepCopy()
	r.DeletionTimestamp = &metav1.Time{}
	m.keep(r)
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.requests, uid)
}

// newest are the requests of an event as they are by whichever is newer, the watch or the
// memory.
//
// shown is the resource version up to which the watch has shown all there is, from before seen was
// read. What was written before it, and is not among what is seen, is gone: also where the watch told
// of that before the server's answer to the write was there to be kept.
func (m *memory) newest(event types.UID, shown string, seen []*evictionv1alpha1.EvictionRequest) []*evictionv1alpha1.EvictionRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, there := make([]*evictionv1alpha1.EvictionRequest, 0, len(seen)), map[types.UID]bool{}
	for _, r := range seen {
		there[r.UID] = true
		if kept, ok := m.requests[r.UID]; ok && !isNewer(r, kept) {
			all = append(all, kept)
			continue
		}
		delete(m.requests, r.UID)
		all = append(all, r)
	}
	for uid, r := range m.requests {
		of, _ := eventOf(r)
		switch {
		case there[uid]:
		case r.DeletionTimestamp == nil && isShown(r, shown):
			delete(m.requests, uid)
		case of == event:
			all = append(all, r)
		}
	}
	return all
}

// isShown says whether the watch has come as far as the object; not, if nobody knows how far it is.
func isShown(o metav1.Object, shown string) bool {
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), shown)
	return err == nil && order <= 0
}

func isNewer(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err != nil || order > 0
}
