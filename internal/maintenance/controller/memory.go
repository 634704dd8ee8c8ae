// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// believed is for how long something counts as it was written although the watch does not
// show it: it may have gone while the watch was broken.
const believed = 30 * time.Second

// memory is what has been written and the watch has not shown yet. Without it, more nodes
// could be begun than may be out, and what a late watch shows would be done again.
type memory[T client.Object] struct {
	clock clock.PassiveClock

	mu sync.Mutex
	of map[types.UID]memorized[T]
}

type memorized[T client.Object] struct {
	object T
	at     time.Time
}

func newMemory[T client.Object](c clock.PassiveClock) *memory[T] {
	return &memory[T]{clock: c, of: map[types.UID]memorized[T]{}}
}

// keep remembers what the server answered to a write. What has gone with it is left to the
// watch.
func (m *memory[T]) keep(o T) {
	if o.GetDeletionTimestamp() != nil && len(o.GetFinalizers()) == 0 {
		m.forget(o.GetUID())
		return
	}
	o.SetManagedFields(nil)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.of[o.GetUID()] = memorized[T]{o, m.clock.Now()}
}

// deleted remembers that an object is on its way out.
func (m *memory[T]) deleted(o T) {
	o = o.DeepCopyObject().(T)
	o.SetDeletionTimestamp(&metav1.Time{Time: m.clock.Now()})
	m.keep(o)
}

// forget is for what the watch has shown to be gone.
func (m *memory[T]) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.of, uid)
}

// newest are the objects as they are by whichever is newer, the watch or the memory.
func (m *memory[T]) newest(seen []T) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.of) == 0 {
		return seen
	}
	now, all, there := m.clock.Now(), make([]T, 0, len(seen)+len(m.of)), map[types.UID]bool{}
	for _, o := range seen {
		there[o.GetUID()] = true
		kept, ok := m.of[o.GetUID()]
		if ok && overrides(kept.object, o) && now.Before(kept.at.Add(believed)) {
			all = append(all, kept.object)
			continue
		}
		delete(m.of, o.GetUID())
		all = append(all, o)
	}
	for uid, kept := range m.of {
		switch {
		case there[uid]:
		case now.Before(kept.at.Add(believed)):
			all = append(all, kept.object)
		default:
			delete(m.of, uid)
		}
	}
	return all
}

// due is when the first of what is remembered is not believed any more; zero: nothing is
// remembered.
func (m *memory[T]) due() (next time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, kept := range m.of {
		next = earliest(next, kept.at.Add(believed))
	}
	return next
}

// overrides says whether what was written is newer than what is shown.
func overrides(written, shown metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(written.GetResourceVersion(), shown.GetResourceVersion())
	deleted := written.GetDeletionTimestamp() != nil && shown.GetDeletionTimestamp() == nil
	return err == nil && (order > 0 || order == 0 && deleted)
}

// earliest is the earlier of two times; zero is never.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
