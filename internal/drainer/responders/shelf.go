// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"sync"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// shelf keeps what one watch has shown, as T, by a key: it is the store that client-go's Reflector fills.
type shelf[K comparable, T comparable] struct {
	convert func(any) (K, T, bool)
	// changed is called, without the lock, with the keys for which there is something else
	// now; without keys: it may be any.
	changed func(keys ...K)

	mu     sync.Mutex
	items  map[K]map[types.UID]T
	keys   map[types.UID]K
	synced bool
	err    error
}

type (
	// evictionShelf has Evictions by the UID of the pod.
	evictionShelf struct {
		*shelf[types.UID, eviction]
	}
	// namespaceShelf has names of namespaces.
	namespaceShelf struct{ *shelf[string, struct{}] }
)

func newEvictionShelf(changed func(pods ...types.UID)) *evictionShelf {
	return &evictionShelf{newShelf(func(obj any) (types.UID, eviction, bool) {
		e, ok := obj.(*evictionv1alpha1.Eviction)
		if !ok || e.Spec.Target.Pod == nil {
			return "", eviction{}, false
		}
		return e.Spec.Target.Pod.UID, toEviction(e), true
	}, changed)}
}

func newNamespaceShelf(changed func(names ...string)) *namespaceShelf {
	return &namespaceShelf{newShelf(func(obj any) (string, struct{}, bool) {
		o, ok := obj.(metav1.Object)
		if !ok {
			return "", struct{}{}, false
		}
		return o.GetName(), struct{}{}, true
	}, changed)}
}

func newShelf[K, T comparable](convert func(any) (K, T, bool), changed func(keys ...K)) *shelf[K, T] {
	return &shelf[K, T]{convert: convert, changed: changed, items: map[K]map[types.UID]T{}, keys: map[types.UID]K{}}
}

// of are the items with a key.
func (s *shelf[K, T]) of(key K) []T {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []T
	for _, item := range s.items[key] {
		all = append(all, item)
	}
	return all
}

// list are all keys, whether they are complete, and what the last attempt to read said if that failed.
func (s *shelf[K, T]) list() (keys map[K]bool, complete bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	keys = map[K]bool{}
	for key := range s.items {
		keys[key] = true
	}
	return keys, s.synced, s.err
}

// state is whether the items are complete, and what the last attempt to read said if that failed.
func (s *shelf[K, T]) state() (complete bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.synced, s.err
}

func (s *shelf[K, T]) isEmpty() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.items) == 0
}

// heard notes how an attempt to read went. Too old a version the Reflector puts right at once.
func (s *shelf[K, T]) heard(err error) {
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

// Add implements cache.ReflectorStore.
func (s *shelf[K, T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s *shelf[K, T]) Update(obj any) error {
	key, item, ok := s.convert(obj)
	if !ok {
		return s.Delete(obj)
	}
	uid := uidOf(obj)
	s.mu.Lock()
	before, known := s.keys[uid]
	if known && before == key && s.items[key][uid] == item {
		s.mu.Unlock()
		return nil
	}
	s.remove(uid)
	s.put(uid, key, item)
	s.mu.Unlock()
	if known && before != key {
		s.changed(before)
	}
	s.changed(key)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s *shelf[K, T]) Delete(obj any) error {
	s.mu.Lock()
	before, known := s.keys[uidOf(obj)]
	s.remove(uidOf(obj))
	s.mu.Unlock()
	if known {
		s.changed(before)
	}
	return nil
}

// Replace implements cache.ReflectorStore.
func (s *shelf[K, T]) Replace(objs []any, _ string) error {
	s.mu.Lock()
	clear(s.items)
	clear(s.keys)
	for _, obj := range objs {
		if key, item, ok := s.convert(obj); ok {
			s.put(uidOf(obj), key, item)
		}
	}
	s.synced = true
	s.mu.Unlock()
	s.changed()
	return nil
}

// Resync implements cache.ReflectorStore. There is nothing to do again.
func (s *shelf[K, T]) Resync() error { return nil }

func (s *shelf[K, T]) put(uid types.UID, key K, item T) {
	if s.items[key] == nil {
		s.items[key] = map[types.UID]T{}
	}
	s.items[key][uid], s.keys[uid] = item, key
}

func (s *shelf[K, T]) remove(uid types.UID) {
	key, known := s.keys[uid]
	if !known {
		return
	}
	delete(s.keys, uid)
	delete(s.items[key], uid)
	if len(s.items[key]) == 0 {
		delete(s.items, key)
	}
}

// uidOf tells objects of one name apart.
func uidOf(obj any) types.UID {
	if o, ok := obj.(metav1.Object); ok {
		return o.GetUID()
	}
	return ""
}
