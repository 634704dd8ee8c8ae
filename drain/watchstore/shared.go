// SPDX-License-Identifier: Apache-2.0

package watchstore

import (
	"maps"
	"slices"
	"sync"
)

// Shared runs one T for each key while the key has users: from the first Join to the last leave. U identifies a user. The zero
// value is ready for use.
type Shared[K, U comparable, T any] struct {
	mu sync.Mutex
	by map[K]*shared[U, T]
}

type shared[U comparable, T any] struct {
	item  T
	stop  func()
	users map[U]bool
}

// Join adds a user. It returns the T of the key, which start begins for the first user. The user must call leave once; the
// leave of the last user waits for the end of the T.
func (s *Shared[K, U, T]) Join(key K, user U, start func() (item T, stop func())) (item T, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.by[key]
	if of == nil {
		of = &shared[U, T]{users: map[U]bool{}}
		of.item, of.stop = start()
		if s.by == nil {
			s.by = map[K]*shared[U, T]{}
		}
		s.by[key] = of
	}
	of.users[user] = true
	return of.item, func() {
		if s.isLast(key, user, of.users) {
			of.stop()
		}
	}
}

// isLast removes a user, and reports whether it was the last one.
func (s *Shared[K, U, T]) isLast(key K, user U, users map[U]bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(users, user); len(users) > 0 {
		return false
	}
	delete(s.by, key)
	return true
}

// Get returns the running T of a key, and its users.
func (s *Shared[K, U, T]) Get(key K) (item T, users []U) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.by[key]; of != nil {
		return of.item, slices.Collect(maps.Keys(of.users))
	}
	return item, nil
}
