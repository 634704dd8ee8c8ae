// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"fmt"
	"slices"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Object is an object of the API.
type Object = client.Object

// Store is the store of an informer.
type Store interface {
	// LastStoreSyncResourceVersion returns the resource version up to which the watch has shown everything;
	// empty if that is unknown.
	LastStoreSyncResourceVersion() string
}

// Writes has the newest writes to the objects of one informer, until its watch shows them. Several goroutines may use it.
type Writes[T Object] struct {
	store Store

	mu   sync.Mutex
	kept map[types.UID]T
}

// New returns the Writes to the objects of a store.
func New[T Object](store Store) *Writes[T] {
	return &Writes[T]{store: store, kept: map[types.UID]T{}}
}

// Keep records the server's answer to a write.
func (w *Writes[T]) Keep(o T) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if kept, ok := w.kept[o.GetUID()]; !ok || !isNewer(kept, o) {
		w.kept[o.GetUID()] = o
	}
}

// Deleted records that the server has accepted the deletion of an object. It has a deletion timestamp from now
// on, until the watch shows a change or its end.
func (w *Writes[T]) Deleted(o T) {
	o = o.DeepCopyObject().(T)
	if o.GetDeletionTimestamp() == nil {
		now := metav1.Now()
		o.SetDeletionTimestamp(&now)
	}
	w.Keep(o)
}

// Forget drops what was written to an object: the server has refused a write that was decided on it.
func (w *Writes[T]) Forget(uid types.UID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.kept, uid)
}

// Unshown reports whether the watch has yet to show a write, according to the last Newest.
func (w *Writes[T]) Unshown() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.kept) > 0
}

// Newest returns the objects that list finds in the store, each in its newest version, and the written ones that
// the watch has yet to show, if list would find them according to belongs. belongs may be nil, for all.
func (w *Writes[T]) Newest(list func() ([]T, error), belongs func(T) bool) ([]T, error) {
	w.mu.Lock() // another Newest may drop what is shown only after seen was read
	defer w.mu.Unlock()
	shown := w.store.LastStoreSyncResourceVersion() // before the objects are read: it may only be too old
	seen, err := list()
	if err != nil {
		return nil, err
	}
	if len(w.kept) == 0 {
		return seen, nil
	}
	all, there := make([]T, 0, len(seen)), map[types.UID]bool{}
	for _, o := range seen {
		there[o.GetUID()] = true
		all = append(all, w.newer(o))
	}
	for uid, kept := range w.kept {
		found := belongs == nil || belongs(kept)
		switch {
		case there[uid]:
		case !isShown(kept, shown):
			if found {
				all = append(all, kept)
			}
		// Either the object was deleted, or list is about other objects of the store. Then at most its deletion
		// matters.
		case found || kept.GetDeletionTimestamp() == nil:
			delete(w.kept, uid)
		}
	}
	return all, nil
}

// Newer returns the newest version of an object that the watch shows.
func (w *Writes[T]) Newer(seen T) T {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.newer(seen)
}

func (w *Writes[T]) newer(seen T) T {
	kept, ok := w.kept[seen.GetUID()]
	if ok && overrides(kept, seen) {
		return kept
	}
	delete(w.kept, seen.GetUID())
	return seen
}

// overrides reports whether the written version is newer than the watched one. A deletion gives no version.
func overrides(written, shown metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(written.GetResourceVersion(), shown.GetResourceVersion())
	deleted := written.GetDeletionTimestamp() != nil && shown.GetDeletionTimestamp() == nil
	return err == nil && (order > 0 || order == 0 && deleted)
}

func isNewer(a, b metav1.Object) bool {
	order, err := resourceversion.CompareResourceVersion(a.GetResourceVersion(), b.GetResourceVersion())
	return err == nil && order > 0
}

// isShown reports whether the watch has reached the version of the object.
func isShown(o metav1.Object, shown string) bool {
	order, err := resourceversion.CompareResourceVersion(o.GetResourceVersion(), shown)
	return err == nil && order <= 0
}

// Informer is an informer with the writes to its objects.
type Informer[T Object] struct {
	cache.SharedIndexInformer
	*Writes[T]
}

// NewInformer adds indexes to an informer.
func NewInformer[T Object](informer cache.SharedIndexInformer, indexes map[string]func(T) []string) (Informer[T], error) {
	indexers := cache.Indexers{}
	for name, valuesOf := range indexes {
		indexers[name] = func(obj any) ([]string, error) {
			if o, ok := obj.(T); ok {
				return valuesOf(o), nil
			}
			return nil, nil
		}
	}
	if err := informer.AddIndexers(indexers); err != nil {
		return Informer[T]{}, fmt.Errorf("index an informer: %w", err)
	}
	return Informer[T]{informer, New[T](informer.GetIndexer())}, nil
}

// ByIndex returns the objects that have a value in one of the indexes: see [Writes.Newest].
func (i Informer[T]) ByIndex(index, value string) ([]T, error) {
	return i.Writes.ByIndex(i.GetIndexer(), index, value)
}

// ByIndex returns the objects of an informer that have a value in one of its indexes: see [Writes.Newest].
func (w *Writes[T]) ByIndex(informer cache.Indexer, index, value string) ([]T, error) {
	values := informer.GetIndexers()[index]
	return w.Newest(func() ([]T, error) {
		objects, err := informer.ByIndex(index, value)
		all := make([]T, len(objects))
		for i, o := range objects {
			all[i] = o.(T)
		}
		return all, err
	}, func(o T) bool {
		of, err := values(o)
		return err == nil && slices.Contains(of, value)
	})
}
