// SPDX-License-Identifier: Apache-2.0

package responders

import (
	"context"
	"sync"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	"github.com/slipway-k8s/slipway/drain/watchstore"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// watching are the two watches. They run from their first to their last user.
type watching struct {
	evictions *watchstore.Store[eviction] // by the UID of the pod
	surges    *watchstore.Store[string]   // names of namespaces
	stop      func()
}

func (r *Reader) start(ctx context.Context) *watching {
	w := &watching{evictions: r.newEvictions(), surges: watchstore.New(watchstore.Options[string]{
		Convert: func(obj any) (string, bool) {
			o, ok := obj.(metav1.Object)
			if !ok {
				return "", false
			}
			return o.GetName(), true
		},
		Same: func(before, after string) bool { return before == after },
		Changed: func(c watchstore.Change[string]) {
			if c.UID == "" || c.Differs {
				r.tell()
			}
		},
	})}
	w.stop = watchstore.Start(ctx, func(ctx context.Context) {
		for r.probe(ctx) {
			r.watchOnce(ctx, w)
		}
	})
	return w
}

func (r *Reader) newEvictions() *watchstore.Store[eviction] {
	return watchstore.New(watchstore.Options[eviction]{
		Convert: func(obj any) (eviction, bool) {
			e, ok := obj.(*evictionv1alpha1.Eviction)
			if !ok || e.Spec.Target.Pod == nil {
				return eviction{}, false
			}
			return toEviction(e), true
		},
		Index: func(e eviction) types.UID { return e.pod },
		Same:  func(before, after eviction) bool { return before == after },
		Changed: func(c watchstore.Change[eviction]) {
			switch {
			case c.UID == "":
				r.tell()
				return
			case !c.Differs:
				return
			}
			if c.Before != nil && (c.After == nil || c.After.pod != c.Before.pod) {
				r.tell(c.Before.pod)
			}
			if c.After != nil {
				r.tell(c.After.pod)
			}
		},
	})
}

// probe waits until it is time to ask for Evictions. It returns false if ctx ends before.
func (r *Reader) probe(ctx context.Context) bool {
	r.mu.Lock()
	known, again := r.isKnownAbsent(), r.absent.Add(probeEvery)
	r.mu.Unlock()
	if !known {
		return ctx.Err() == nil
	}
	timer := r.clock.NewTimer(again.Sub(r.clock.Now()))
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}

// watchOnce watches until ctx ends, or the server says that there are no Evictions. Namespaces are watched only where
// there are Evictions.
func (r *Reader) watchOnce(ctx context.Context, w *watching) {
	logger := klog.FromContext(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	defer running.Wait()
	var begin sync.Once
	from := watchstore.From("responders", &evictionv1alpha1.Eviction{}, r.evictions.List, r.evictions.Watch)
	from.Heard = func(attempt context.Context, err error) {
		if attempt.Err() == nil && isAbsent(err) && w.evictions.Len() == 0 && r.notThere() {
			logger.Info("No Evictions are read: drains leave no pods to responders", "reason", err.Error(), "nextAttempt", probeEvery.String())
			stop()
			r.tell()
			return
		}
		if attempt.Err() == nil && err == nil {
			r.present()
			begin.Do(func() { running.Go(func() { r.watchNamespaces(ctx, w) }) })
		}
		w.evictions.Heard(attempt, err)
	}
	w.evictions.Run(ctx, from)
}

// watchNamespaces watches the namespaces that opt in to surge.
func (r *Reader) watchNamespaces(ctx context.Context, w *watching) {
	from := watchstore.From("responders", &metav1.PartialObjectMetadata{}, r.namespaces.List, r.namespaces.Watch)
	from.Labels = surge.Responder + "=true"
	w.surges.Run(ctx, from)
}
