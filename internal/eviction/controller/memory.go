// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// memory is what has been written and the watches have not shown yet.
type memory struct {
	mu      sync.Mutex
	objects map[types.UID]metav1.Object
}

func newMemory() *memory { return &memory{objects: map[types.UID]metav1.Object{}} }

// keep remembers what the server answered to a write.
func (m *memory) keep(o metav1.Object) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[o.GetUID()] = o
}

func (m *memory) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, uid)
}

// newest are the objects as they are by whichever is newer, the watch or the memory. what
// of the memory has no counterpart among them yet is added if belongs says so.
//
// shown is the resource version up to which the watch has shown all there is, from before seen was
// read. What was written before it, and is not among what is seen, is gone: also where the watch told
// of that before the server's answer to the write was there to be kept.
func newest[T metav1.Object](m *memory, shown string, seen []T, belongs func(T) bool) []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	all, there := make([]T, 0, len(seen)), map[types.UID]bool{}
	for _, o := range seen {
		there[o.GetUID()] = true
		kept, ok := m.objects[o.GetUID()].(T)
		if ok && isNewer(kept, o) {
			all = append(all, kept)
			continue
		}
		delete(m.objects, o.GetUID())
		all = append(all, o)
	}
	for uid, o := range m.objects {
		kept, ok := o.(T)
		switch {
		case !ok:
		case isShown(kept, shown):
			delete(m.objects, uid)
		case !there[uid] && belongs(kept):
			all = append(all, kept)
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
	return err == nil && order > 0
}
