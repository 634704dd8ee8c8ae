// SPDX-License-Identifier: Apache-2.0

package loop

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"
)

// Watches are running informers of a factory.
type Watches struct {
	factory informers.SharedInformerFactory
	stop    context.CancelFunc
	synced  []cache.InformerSynced
}

// Watch starts the informers of a factory, until Close or the end of ctx. It calls changed with each object that
// appears, changes or goes, and ready when everything is known. ready may be nil.
func Watch(ctx context.Context, factory informers.SharedInformerFactory, changed func(obj any), ready func(), all ...cache.SharedIndexInformer) (*Watches, error) {
	w := &Watches{factory: factory}
	for _, informer := range all {
		registration, err := informer.AddEventHandler(Handler(changed))
		if err != nil {
			return nil, fmt.Errorf("listen to a watch: %w", err)
		}
		w.synced = append(w.synced, registration.HasSynced)
	}
	ctx, w.stop = context.WithCancel(ctx)
	factory.StartWithContext(ctx)
	if ready != nil {
		go func() {
			if w.WaitForSync(ctx) {
				ready()
			}
		}()
	}
	return w, nil
}

// Handler calls changed with each object that appears, changes or goes, also if the watch has missed its end.
func Handler(changed func(obj any)) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    changed,
		UpdateFunc: func(_, obj any) { changed(obj) },
		DeleteFunc: func(obj any) {
			if missed, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = missed.Obj
			}
			changed(obj)
		},
	}
}

// Synced reports whether everything is known.
func (w *Watches) Synced() bool {
	return !slices.ContainsFunc(w.synced, func(synced cache.InformerSynced) bool { return !synced() })
}

// WaitForSync waits until everything is known. It returns false if ctx ends before.
func (w *Watches) WaitForSync(ctx context.Context) bool {
	return cache.WaitForCacheSync(ctx.Done(), w.synced...)
}

// Close ends the informers, and waits for them.
func (w *Watches) Close() {
	w.stop()
	w.factory.Shutdown()
}
