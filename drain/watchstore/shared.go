// SPDX-License-Identifier: Apache-2.0

package watchstore

import (
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
	users []U
}

// Join adds a user. It returns the T of the key, which start begins for the first user. The user must call leave once; the
// leave of the last user waits for the end of the T.
func (s *Shared[K, U, T]) Join(key K, user U, start func() (item T, stop func())) (item T, leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.by[key]
	if of == nil {
		of = &shared[U, T]{}
		of.item, of.stop = start()
		if s.by == nil {
			s.by = map[K]*shared[U, T]{}
		}
		s.by[key] = of
	}
	of.users = append(of.users, user)
	return of.item, func() { s.leave(key, user, of) }
}

func (s *Shared[K, U, T]) leave(key K, user U, of *shared[U, T]) {
	s.mu.Lock()
	i := slices.Index(of.users, user)
	of.users = slices.Delete(of.users, i, i+1)
	last := len(of.users) == 0
	if last {
		delete(s.by, key)
	}
	s.mu.Unlock()
	if last {
		of.stop()
	}
}

// Users returns the users of a key.
func (s *Shared[K, U, T]) Users(key K) []U {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.by[key]; of != nil {
		return slices.Clone(of.users)
	}
	return nil
}

// Get returns the running T of a key.
func (s *Shared[K, U, T]) Get(key K) (item T, running bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.by[key]; of != nil {
		return of.item, true
	}
	return item, false
}
