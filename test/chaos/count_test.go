// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/chaos/plan"
)

// count counts what its watches have shown since a round began.
type count struct {
	s *stage

	mu      sync.Mutex
	old     map[types.UID]bool // what was there when the round began, and is not counted
	pods    map[types.UID]bool // whose evictions count
	seen    map[plan.Seen]map[types.UID]bool
	changed chan struct{} // closed and replaced with each change
	over    bool          // nothing more will come
}

// watch begins to watch, until the test ends.
func (s *stage) watch() *count {
	s.t.Helper()
	c := &count{s: s, changed: make(chan struct{}), seen: map[plan.Seen]map[types.UID]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	var watching sync.WaitGroup
	s.t.Cleanup(func() { stop(); watching.Wait() })
	for _, w := range []struct {
		list    client.ObjectList
		example client.Object
		saw     func(client.Object, bool)
	}{
		{&corev1.PodList{}, &corev1.Pod{}, c.sawPod},
		{&lifecyclev1alpha1.LifecycleEventList{}, &lifecyclev1alpha1.LifecycleEvent{}, c.sawEvent},
	} {
		informer := cache.NewSharedInformer(s.lister(w.list), w.example, 0)
		_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc:    func(o any) { w.saw(o.(client.Object), false) },
			UpdateFunc: func(_, o any) { w.saw(o.(client.Object), false) },
			DeleteFunc: func(o any) {
				if unknown, ok := o.(cache.DeletedFinalStateUnknown); ok {
					o = unknown.Obj
				}
				w.saw(o.(client.Object), true)
			},
		})
		if err != nil {
			s.t.Fatal(err)
		}
		watching.Go(func() { informer.RunWithContext(ctx) })
	}
	return c
}

func (s *stage) lister(list client.ObjectList) cache.ListerWatcher {
	return cache.ToListWatcherWithWatchListSemantics(&cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, raw metav1.ListOptions) (runtime.Object, error) {
			into := list.DeepCopyObject().(client.ObjectList)
			return into, s.env.Client.List(ctx, into, &client.ListOptions{Raw: &raw})
		},
		WatchFuncWithContext: func(ctx context.Context, raw metav1.ListOptions) (watch.Interface, error) {
			return s.env.Client.Watch(ctx, list.DeepCopyObject().(client.ObjectList), &client.ListOptions{Raw: &raw})
		},
	}, s.env.Client)
}

// begin begins a round: from now on counts what happens to the pods of ours that are there,
// and to events that are not there yet.
func (c *count) begin(t *testing.T) {
	t.Helper()
	pods, events := c.s.pods(t), lifecyclev1alpha1.LifecycleEventList{}
	c.s.persist(t, "list events", func(ctx context.Context) error { return c.s.env.Client.List(ctx, &events) })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.old, c.pods, c.seen = map[types.UID]bool{}, map[types.UID]bool{}, map[plan.Seen]map[types.UID]bool{
		plan.Claimed: {}, plan.Evicted: {}, plan.Ended: {},
	}
	for _, e := range events.Items {
		c.old[e.UID] = true
	}
	for _, p := range pods {
		c.pods[p.UID] = true
	}
}

func (c *count) sawPod(o client.Object, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods[o.GetUID()] && (gone || o.GetDeletionTimestamp() != nil) {
		c.add(plan.Evicted, o.GetUID())
	}
}

// sawEvent: what is gone has been claimed and has ended, although nobody may have seen it.
func (c *count) sawEvent(o client.Object, gone bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	status := o.(*lifecyclev1alpha1.LifecycleEvent).Status.ClaimStatus
	if c.old == nil || c.old[o.GetUID()] {
		return
	}
	if gone || status == lifecyclev1alpha1.Claimed || status.Terminal() {
		c.add(plan.Claimed, o.GetUID())
	}
	if gone || status.Terminal() {
		c.add(plan.Ended, o.GetUID())
	}
}

func (c *count) add(seen plan.Seen, uid types.UID) {
	c.seen[seen][uid] = true
	close(c.changed)
	c.changed = make(chan struct{})
}

// giveUp has nobody wait any more.
func (c *count) giveUp() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
	close(c.changed)
	c.changed = make(chan struct{})
}

// reaches waits until the moment has come, and says whether it has.
func (c *count) reaches(ctx context.Context, m plan.Moment) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		c.mu.Lock()
		n, changed, over := len(c.seen[m.Seen]), c.changed, c.over
		c.mu.Unlock()
		if n >= m.Count || over {
			return n >= m.Count
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}
