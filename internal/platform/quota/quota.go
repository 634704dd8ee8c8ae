// SPDX-License-Identifier: Apache-2.0

package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// Limit limits the objects of a kind.
type Limit struct {
	// Kind is the name of the kind in the log.
	Kind string
	// Most is the number of objects of a group that the watch keeps.
	Most int
	// Group returns the group of an object. Empty: the object has no limit.
	Group func(metav1.Object) string
}

// Namespace is the group of objects of one namespace.
func Namespace(o metav1.Object) string { return o.GetNamespace() }

// Quota applies a Limit to one watch. It passes the first objects of each group, and drops the others as if they did not
// exist. When an object of a full group is deleted, the next watch begins with a new list, which passes dropped objects; API
// servers end each watch within ten minutes.
type Quota struct {
	limit Limit

	mu     sync.Mutex
	kept   map[types.UID]string // groups
	counts map[string]int
	// full are the groups of which objects were dropped. stale: such a group has room again.
	full  map[string]bool
	stale bool
}

// New returns the quota of one watch.
func New(limit Limit) *Quota {
	q := &Quota{limit: limit}
	q.begin()
	return q
}

// NewInformer returns an informer with a limit, from two methods of a typed client. Like informers of client-go, it has an index by
// namespace.
func NewInformer[L runtime.Object](
	limit Limit, example runtime.Object, client any, list func(context.Context, metav1.ListOptions) (L, error), begin cache.WatchFuncWithContext,
) cache.SharedIndexInformer {
	lw := &cache.ListWatch{WatchFuncWithContext: begin, ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, options)
	}}
	return cache.NewSharedIndexInformer(New(limit).of(cache.ToListWatcherWithWatchListSemantics(lw, client)), example, 0,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc})
}

// of limits an informer.
func (q *Quota) of(lw cache.ListerWatcher) cache.ListerWatcher {
	from := cache.ToListerWatcherWithContext(lw)
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: q.List(from.ListWithContext), WatchFuncWithContext: q.Watch(from.WatchWithContext),
	}, lw)
}

// List limits the lists of a watch.
func (q *Quota) List(list cache.ListWithContextFunc) cache.ListWithContextFunc {
	return func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		found, err := list(ctx, options)
		if err != nil {
			return found, err
		}
		if options.Continue == "" {
			q.begin()
		}
		all, err := meta.ExtractList(found)
		if err != nil {
			return nil, fmt.Errorf("limit a list of %s: %w", q.limit.Kind, err)
		}
		kept := all[:0]
		for _, o := range all {
			if _, passes := q.filter(ctx, watch.Event{Type: watch.Added, Object: o}); passes {
				kept = append(kept, o)
			}
		}
		return found, meta.SetList(found, kept)
	}
}

// Watch limits a watch.
func (q *Quota) Watch(begin cache.WatchFuncWithContext) cache.WatchFuncWithContext {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		lists := options.SendInitialEvents != nil && *options.SendInitialEvents
		if !lists && q.isStale() {
			return nil, apierrors.NewResourceExpired("a full group has room again: list its objects")
		}
		w, err := begin(ctx, options)
		if err != nil {
			return nil, err
		}
		if lists {
			q.begin()
		}
		return q.follow(ctx, w), nil
	}
}

// follow passes the events of a watch. Unlike [watch.Filter], it ends with a stopped watch that nothing reads.
func (q *Quota) follow(ctx context.Context, from watch.Interface) watch.Interface {
	passed := make(chan watch.Event)
	to := watch.NewProxyWatcher(passed)
	go func() {
		defer close(passed)
		defer from.Stop()
		for {
			select {
			case e, ok := <-from.ResultChan():
				if !ok {
					return
				}
				e, passes := q.filter(ctx, e)
				if !passes {
					continue
				}
				select {
				case passed <- e:
				case <-to.StopChan():
					return
				}
			case <-to.StopChan():
				return
			}
		}
	}()
	return to
}

// begin forgets all objects: the watch lists them again.
func (q *Quota) begin() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.kept, q.counts, q.full, q.stale = map[types.UID]string{}, map[string]int{}, map[string]bool{}, false
}

func (q *Quota) isStale() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.stale
}

// filter reports whether the watch passes an event. The first event of an object that was dropped before is Added.
func (q *Quota) filter(ctx context.Context, e watch.Event) (watch.Event, bool) {
	o, ok := e.Object.(metav1.Object)
	if !ok || e.Type == watch.Bookmark || e.Type == watch.Error {
		return e, true
	}
	group := q.limit.Group(o)
	if group == "" {
		return e, true
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	_, known := q.kept[o.GetUID()]
	switch {
	case e.Type == watch.Deleted:
		q.forget(o.GetUID())
		return e, known
	case known:
		return e, true
	case q.counts[group] >= q.limit.Most:
		if !q.full[group] {
			q.full[group] = true
			klog.FromContext(ctx).Info("Ignoring the other objects of a group: there are too many", "kind", q.limit.Kind, "group", group, "limit", q.limit.Most)
		}
		return e, false
	default:
		q.kept[o.GetUID()] = group
		q.counts[group]++
		e.Type = watch.Added
		return e, true
	}
}

// forget makes room for another object of the group.
func (q *Quota) forget(uid types.UID) {
	group, known := q.kept[uid]
	if !known {
		return
	}
	delete(q.kept, uid)
	if q.counts[group]--; q.counts[group] == 0 {
		delete(q.counts, group)
	}
	q.stale = q.stale || q.full[group]
}

// Informers returns the constructor of a cache's informers. limitOf returns the limit of a kind, by an example; false: none.
func Informers(limitOf func(runtime.Object) (Limit, bool)) func(cache.ListerWatcher, runtime.Object, time.Duration, cache.Indexers) cache.SharedIndexInformer {
	return func(lw cache.ListerWatcher, example runtime.Object, resync time.Duration, indexers cache.Indexers) cache.SharedIndexInformer {
		if limit, limited := limitOf(example); limited {
			lw = New(limit).of(lw)
		}
		return cache.NewSharedIndexInformer(lw, example, resync, indexers)
	}
}
