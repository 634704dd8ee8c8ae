// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// shelf keeps what one watch has shown, as T. It is the store that client-go's Reflector fills.
type shelf[T any] struct {
	// convert makes what is kept from what the watch shows.
	convert func(any) T
	// kept, if set, is called with each version of an object once it is on the shelf, so that nobody can be woken by it
	// and still find the version before.
	kept func(T)
	// shape, if set, is what others remember of an item.
	shape func(T) string
	// touched, if set, is called instead of changed with each object that has changed or gone, and with none after a new
	// list. reshaped: one has come or gone, or has another shape.
	touched func(uid types.UID, reshaped bool)
	// changed is called after each change, also of how reading goes. All are called without the lock.
	changed func()

	mu     sync.Mutex
	items  map[types.UID]T
	synced bool
	// changes counts what the watch has shown, and shapes how often it was another shape.
	changes, shapes int
	err             error
}

func newShelf[T any](convert func(any) T, changed func()) *shelf[T] {
	return &shelf[T]{convert: convert, changed: changed, items: map[types.UID]T{}}
}

// list returns all items, and whether they are complete.
func (s *shelf[T]) list() ([]T, bool) {
	all, _, complete := s.shaped()
	return all, complete
}

// shaped is list, with a number that is another one when the items have another shape.
func (s *shelf[T]) shaped() (all []T, shapes int, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	all = make([]T, 0, len(s.items))
	for _, item := range s.items {
		all = append(all, item)
	}
	return all, s.shapes, s.synced
}

// version is another one after each change of the items.
func (s *shelf[T]) version() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

// get returns an item, and whether the items are complete.
func (s *shelf[T]) get(uid types.UID) (item T, found, complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	item, found = s.items[uid]
	return item, found, s.synced
}

// these returns some of the items, and whether the items are complete. shapes is what shaped has said: ok tells that
// they have that shape still.
func (s *shelf[T]) these(uids map[types.UID]bool, shapes int) (some []T, complete, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if shapes != s.shapes {
		return nil, false, false
	}
	some = make([]T, 0, len(uids))
	for uid := range uids {
		if item, found := s.items[uid]; found {
			some = append(some, item)
		}
	}
	return some, s.synced, true
}

func (s *shelf[T]) has(uid types.UID) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, found := s.items[uid]
	return found
}

// trouble returns what the last attempt to read said, if that failed.
func (s *shelf[T]) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// heard notes how an attempt to read went.
func (s *shelf[T]) heard(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the end of the watch; or too old a version, which the Reflector puts right at once
	}
	s.mu.Lock()
	s.err = err
	s.mu.Unlock()
	s.changed()
}

// Add implements cache.ReflectorStore.
func (s *shelf[T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *shelf[T]) Update(obj any) error {
	item, uid := s.convert(obj), uidOf(obj)
	s.mu.Lock()
	before, known := s.items[uid]
	reshaped := s.reshape(known && s.shape != nil && s.shape(before) == s.shape(item))
	s.items[uid] = item
	s.changes++
	s.mu.Unlock()
	s.tell(item)
	s.touch(uid, reshaped)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *shelf[T]) Delete(obj any) error {
	uid := uidOf(obj)
	s.mu.Lock()
	delete(s.items, uid)
	reshaped := s.reshape(false)
	s.changes++
	s.mu.Unlock()
	s.touch(uid, reshaped)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *shelf[T]) Replace(objs []any, _ string) error {
	items, all := make(map[types.UID]T, len(objs)), make([]T, len(objs))
	for i, obj := range objs {
		all[i] = s.convert(obj)
		items[uidOf(obj)] = all[i]
	}
	s.mu.Lock()
	s.items, s.synced = items, true
	reshaped := s.reshape(false)
	s.changes++
	s.mu.Unlock()
	for _, item := range all {
		s.tell(item)
	}
	s.touch("", reshaped)
	return nil
}

func (s *shelf[T]) tell(item T) {
	if s.kept != nil {
		s.kept(item)
	}
}

func (s *shelf[T]) touch(uid types.UID, reshaped bool) {
	if s.touched == nil {
		s.changed()
		return
	}
	s.touched(uid, reshaped)
}

// reshape counts a change of the shape, unless it is the same. It is called with the lock.
func (s *shelf[T]) reshape(same bool) bool {
	if !same {
		s.shapes++
	}
	return !same
}

// Resync implements cache.ReflectorStore. There is nothing to do again.
func (s *shelf[T]) Resync() error { return nil }

// uidOf is the key: a name may pass to another object between two events. A watch may show the end of the old one after
// the beginning of the new one.
func uidOf(obj any) types.UID {
	if o, ok := obj.(metav1.Object); ok {
		return o.GetUID()
	}
	return ""
}
