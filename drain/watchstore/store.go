// SPDX-License-Identifier: Apache-2.0

package watchstore

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Options define the items of a Store. Convert is required.
type Options[T any] struct {
	// Convert returns the item of an object. If wanted is false, the Store keeps no item.
	Convert func(obj any) (item T, wanted bool)
	// Index, if set, is the key by which Indexed finds items.
	Index func(T) types.UID
	// Same, if set, reports that the difference between two versions of an item does not matter (Change.Differs, Revision).
	Same func(before, after T) bool
	// Changed, if set, is called after each change and after each attempt to read. It is called without the lock, and
	// never by two goroutines at a time.
	Changed func(Change[T])
}

// Change describes one change of a Store.
type Change[T any] struct {
	// UID of the object. Empty after a new list, which may have changed every item, and after an attempt to read.
	UID types.UID
	// Before and After are the items. Nil: none.
	Before, After *T
	// Differs reports a change that matters by Options.Same. It is always true for a new or removed item and after a
	// new list, and never after an attempt to read.
	Differs bool
}

// Store keeps the newest version of each object of a watch, as T. It implements cache.ReflectorStore.
//
// The key is the UID: a name may pass to another object between two events, and a watch may show the end of the old
// object after the begin of the new object.
type Store[T any] struct {
	options Options[T]

	mu     sync.Mutex
	items  map[types.UID]T
	index  map[types.UID]map[types.UID]struct{}
	synced bool
	// revision counts the changes that matter.
	revision int
	err      error
}

// New returns an empty Store.
func New[T any](options Options[T]) *Store[T] {
	return &Store[T]{options: options, items: map[types.UID]T{}, index: map[types.UID]map[types.UID]struct{}{}}
}

// List returns all items, and whether they are complete.
func (s *Store[T]) List() (items []T, synced bool) {
	items, _, synced = s.ListRevision()
	return items, synced
}

// ListRevision is List with the revision of the items.
func (s *Store[T]) ListRevision() (items []T, revision int, synced bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items = make([]T, 0, len(s.items))
	for _, item := range s.items {
		items = append(items, item)
	}
	return items, s.revision, s.synced
}

// Pick returns some of the items, and whether the Store is complete, if no change has mattered since the revision.
func (s *Store[T]) Pick(uids map[types.UID]bool, revision int) (items []T, synced, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if revision != s.revision {
		return nil, false, false
	}
	items = make([]T, 0, len(uids))
	for uid := range uids {
		if item, found := s.items[uid]; found {
			items = append(items, item)
		}
	}
	return items, s.synced, true
}

// Get returns an item.
func (s *Store[T]) Get(uid types.UID) (item T, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, found = s.items[uid]
	return item, found
}

// Has reports whether there is an item.
func (s *Store[T]) Has(uid types.UID) bool {
	_, found := s.Get(uid)
	return found
}

// Indexed returns the items that have the key, by Options.Index.
func (s *Store[T]) Indexed(key types.UID) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var items []T
	for uid := range s.index[key] {
		items = append(items, s.items[uid])
	}
	return items
}

// Len counts the items.
func (s *Store[T]) Len() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items)
}

// Synced reports whether the items are complete.
func (s *Store[T]) Synced() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced
}

// Err returns the error of the last attempt to read, if that failed.
func (s *Store[T]) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Heard records the result of an attempt to read, with the context of the attempt.
func (s *Store[T]) Heard(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the watch has ended; or the version was too old, and the Reflector lists again at once
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.tell(Change[T]{})
}

// Add implements cache.ReflectorStore.
func (s *Store[T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *Store[T]) Update(obj any) error {
	item, wanted := s.options.Convert(obj)
	if !wanted {
		return s.Delete(obj)
	}
	s.change(uidOf(obj), &item)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *Store[T]) Delete(obj any) error {
	s.change(uidOf(obj), nil)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *Store[T]) Replace(objs []any, _ string) error {
	items := make(map[types.UID]T, len(objs))
	for _, obj := range objs {
		if item, wanted := s.options.Convert(obj); wanted {
			items[uidOf(obj)] = item
		}
	}
	s.mu.Lock()
	s.items, s.synced = items, true
	clear(s.index)
	for uid, item := range items {
		s.enter(uid, item)
	}
	s.revision++
	s.mu.Unlock()
	s.tell(Change[T]{Differs: true})
	return nil
}

// Resync implements cache.ReflectorStore.
func (s *Store[T]) Resync() error { return nil }

// change replaces an item. Nil: the object does not exist.
func (s *Store[T]) change(uid types.UID, after *T) {
	s.mu.Lock()
	c := Change[T]{UID: uid, After: after}
	if before, known := s.items[uid]; known {
		c.Before = &before
		s.withdraw(uid, before)
	}
	if after != nil {
		s.items[uid] = *after
		s.enter(uid, *after)
	}
	if c.Before == nil && after == nil {
		s.mu.Unlock()
		return
	}
	c.Differs = c.Before == nil || after == nil || s.options.Same == nil || !s.options.Same(*c.Before, *after)
	if c.Differs {
		s.revision++
	}
	s.mu.Unlock()
	s.tell(c)
}

func (s *Store[T]) enter(uid types.UID, item T) {
	if s.options.Index == nil {
		return
	}
	key := s.options.Index(item)
	if s.index[key] == nil {
		s.index[key] = map[types.UID]struct{}{}
	}
	s.index[key][uid] = struct{}{}
}

func (s *Store[T]) withdraw(uid types.UID, item T) {
	delete(s.items, uid)
	if s.options.Index == nil {
		return
	}
	key := s.options.Index(item)
	if delete(s.index[key], uid); len(s.index[key]) == 0 {
		delete(s.index, key)
	}
}

func (s *Store[T]) tell(c Change[T]) {
	if s.options.Changed != nil {
		s.options.Changed(c)
	}
}

func uidOf(obj any) types.UID {
	if o, ok := obj.(metav1.Object); ok {
		return o.GetUID()
	}
	return ""
}
