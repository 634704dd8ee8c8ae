// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// shelf keeps what one watch has shown, as T. It is the store that client-go's Reflector
// fills.
type shelf[T any] struct {
	convert func(any) T
	// changed is called after each change, without the lock.
	changed func()

	mu     sync.Mutex
	items  map[types.UID]T
	synced bool
	absent bool
	err    error
}

func newShelf[T any](convert func(any) T, changed func()) *shelf[T] {
	return &shelf[T]{convert: convert, changed: changed, items: map[types.UID]T{}}
}

// list returns all items, whether they are complete, and what the last attempt to read
// said if that failed.
func (s *shelf[T]) list() (items []T, complete bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, item := range s.items {
		items = append(items, item)
	}
	return items, s.synced, s.err
}

// isAbsent says whether the server does not know the kind.
func (s *shelf[T]) isAbsent() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.absent
}

// heard notes how an attempt to read went.
func (s *shelf[T]) heard(ctx context.Context, err error) {
	if ctx.Err() != nil || apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return // the end of the watch; or too old a version, which the Reflector puts right at once
	}
	s.mu.Lock()
	s.err = err
	// Where something was read before, one server of several may not know the kind yet: what was read stays.
	if s.absent = apierrors.IsNotFound(err) && len(s.items) == 0; s.absent {
		s.synced, s.err = true, nil
	}
	s.mu.Unlock()
	s.changed()
}

// Add implements cache.ReflectorStore.
func (s *shelf[T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *shelf[T]) Update(obj any) error {
	item := s.convert(obj)
	s.mu.Lock()
	s.items[uidOf(obj)] = item
	s.mu.Unlock()
	s.changed()
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *shelf[T]) Delete(obj any) error {
	s.mu.Lock()
	delete(s.items, uidOf(obj))
	s.mu.Unlock()
	s.changed()
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *shelf[T]) Replace(objs []any, _ string) error {
	items := make(map[types.UID]T, len(objs))
	for _, obj := range objs {
		items[uidOf(obj)] = s.convert(obj)
	}
	s.mu.Lock()
	s.items, s.synced = items, true
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync implements cache.ReflectorStore. There is nothing to do again.
func (s *shelf[T]) Resync() error { return nil }

// uidOf is the key: a name may pass to another object between two events.
func uidOf(obj any) types.UID {
	if o, ok := obj.(metav1.Object); ok {
		return o.GetUID()
	}
	return ""
}
