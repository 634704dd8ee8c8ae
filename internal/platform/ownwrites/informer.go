// SPDX-License-Identifier: Apache-2.0

package ownwrites

import (
	"fmt"
	"slices"

	"k8s.io/client-go/tools/cache"
)

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
