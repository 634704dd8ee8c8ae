// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// evictionBoard is what a watch has shown last of a namespace's EvictionRequests and
// Evictions.
type evictionBoard struct {
	mu        sync.Mutex
	requests  map[types.UID]*evictionv1alpha1.EvictionRequest // guarded by mu
	evictions map[types.UID]*evictionv1alpha1.Eviction        // guarded by mu
	lost      string                                          // guarded by mu
	refused   error                                           // guarded by mu: it will never show anything
	changed   chan struct{}
	synced    []cache.InformerSynced
}

// watchEvictions watches until ctx ends.
func watchEvictions(ctx context.Context, clients kubernetes.Interface, namespace string) (*evictionBoard, error) {
	b := &evictionBoard{
		requests: map[types.UID]*evictionv1alpha1.EvictionRequest{}, evictions: map[types.UID]*evictionv1alpha1.Eviction{},
		changed: make(chan struct{}, 1),
	}
	factory := informers.NewSharedInformerFactoryWithOptions(clients, 0, informers.WithNamespace(namespace))
	api := factory.Lifecycle().V1alpha1()
	for _, informer := range []cache.SharedIndexInformer{api.EvictionRequests().Informer(), api.Evictions().Informer()} {
		_, handled := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: b.saw, UpdateFunc: func(_, obj any) { b.saw(obj) }, DeleteFunc: b.gone,
		})
		reports := informer.SetWatchErrorHandlerWithContext(func(_ context.Context, _ *cache.Reflector, err error) { b.trouble(err) })
		b.synced = append(b.synced, informer.HasSynced)
		if err := errors.Join(handled, reports); err != nil {
			return nil, fmt.Errorf("watch EvictionRequests: %w", err)
		}
	}
	factory.StartWithContext(ctx)
	context.AfterFunc(ctx, factory.Shutdown)
	return b, nil
}

func (b *evictionBoard) saw(obj any) {
	b.take(func() {
		b.lost = ""
		switch o := obj.(type) {
		case *evictionv1alpha1.EvictionRequest:
			b.requests[o.UID] = o
		case *evictionv1alpha1.Eviction:
			b.evictions[o.UID] = o
		}
	})
}

func (b *evictionBoard) gone(obj any) {
	if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = missed.Obj
	}
	b.take(func() {
		b.lost = ""
		switch o := obj.(type) {
		case *evictionv1alpha1.EvictionRequest:
			delete(b.requests, o.UID)
		case *evictionv1alpha1.Eviction:
			delete(b.evictions, o.UID)
		}
	})
}

// trouble notes that a watch has ended with an error. Most of them go by.
func (b *evictionBoard) trouble(err error) {
	b.take(func() {
		switch {
		case apierrors.IsForbidden(err), apierrors.IsUnauthorized(err):
			b.refused = fmt.Errorf("watch EvictionRequests and Evictions: %w", err)
		case apierrors.IsResourceExpired(err), apierrors.IsGone(err):
		default:
			b.lost = err.Error()
		}
	})
}

func (b *evictionBoard) take(in func()) {
	b.mu.Lock()
	in()
	b.mu.Unlock()
	select {
	case b.changed <- struct{}{}:
	default:
	}
}

// evictionView is what there is at a moment.
type evictionView struct {
	requests  []*evictionv1alpha1.EvictionRequest
	evictions []*evictionv1alpha1.Eviction
	lost      string
	refused   error
	// complete: what is not in it is not there, or has come just now.
	complete bool
}

func (b *evictionBoard) view() evictionView {
	complete := !slices.ContainsFunc(b.synced, func(synced cache.InformerSynced) bool { return !synced() })
	b.mu.Lock()
	defer b.mu.Unlock()
	return evictionView{
		requests: slices.Collect(maps.Values(b.requests)), evictions: slices.Collect(maps.Values(b.evictions)),
		lost: b.lost, refused: b.refused, complete: complete,
	}
}

// request is that of a UID, or nil.
func (v evictionView) request(uid types.UID) *evictionv1alpha1.EvictionRequest {
	i := slices.IndexFunc(v.requests, func(r *evictionv1alpha1.EvictionRequest) bool { return r.UID == uid })
	if i < 0 {
		return nil
	}
	return v.requests[i]
}
