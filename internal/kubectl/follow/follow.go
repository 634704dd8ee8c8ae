// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
)

// Follower takes what a watch shows into stories, and the stories onto a screen.
type Follower struct {
	cluster Cluster
	screen  Screen
	clock   clock.WithTicker
	// OnRefusal is called for an event that was asked not to evict some of the pods, while
	// nothing has left, and again until it says that it is done. May be nil.
	OnRefusal func(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent, pods []lifecyclev1alpha1.Blocker) (done bool)

	mu      sync.Mutex
	stories *progress.Stories // guarded by mu
	over    bool              // guarded by mu: the stories are the caller's, and handlers may still be at work
	changed chan struct{}
	refused map[*progress.Story]bool // whose refusal is done with
}

// New follows events of a cluster on a screen.
func New(cluster Cluster, screen Screen, clock clock.WithTicker, asked ...progress.Asked) *Follower {
	return &Follower{
		cluster: cluster, screen: screen, clock: clock,
		stories: progress.New(asked...), changed: make(chan struct{}, 1), refused: map[*progress.Story]bool{},
	}
}

// Follow watches, has the events created, and returns when they have ended, or with the
// error of ctx when that ends. The stories say how they ended.
func (f *Follower) Follow(ctx context.Context, create func(context.Context) error) (*progress.Stories, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	defer f.end()
	seen, err := f.cluster.Watch(ctx, f.scope(), f)
	if err != nil {
		return f.stories, fmt.Errorf("watch: %w", err)
	}
	f.take(func(at time.Time) {
		if seen.Pods {
			f.stories.WatchPods()
		}
		f.stories.Begin(at)
	})
	if err := create(ctx); err != nil {
		return f.stories, err
	}
	return f.stories, f.untilOver(ctx)
}

// Expect says which event is followed: as it was created, or found.
func (f *Follower) Expect(event *lifecyclev1alpha1.LifecycleEvent) {
	f.take(func(at time.Time) { f.stories.Expect(event, at) })
}

// scope is a node with all that happens there; of several, only their events: what else
// happens on many nodes is more than a person can follow, and than a cluster should be
// asked for.
func (f *Follower) scope() Scope {
	if all := f.stories.All(); len(all) == 1 {
		return Scope{Event: all[0].Name(), Node: all[0].Node(), Nodes: true, Pods: true}
	}
	return Scope{}
}

// end leaves the stories as they are.
func (f *Follower) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// Saw takes in what the watch has seen.
func (f *Follower) Saw(object client.Object) {
	f.take(func(at time.Time) {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			f.stories.SawEvent(o, at)
		case *corev1.Node:
			f.stories.SawNode(o, at)
		case *corev1.Pod:
			f.stories.SawPod(o, at)
		}
	})
}

// Gone takes in what the watch has seen go.
func (f *Follower) Gone(object client.Object) {
	f.take(func(at time.Time) {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			f.stories.EventGone(o, at)
		case *corev1.Pod:
			f.stories.PodGone(o, at)
		}
	})
}

// Lost takes in that nothing can be seen for now.
func (f *Follower) Lost(why error) {
	f.take(func(at time.Time) { f.stories.Lost(why.Error(), at) })
}

// Found takes in that something can be seen again.
func (f *Follower) Found() { f.take(f.stories.Found) }

// take lets something into the stories, at the time it is now.
func (f *Follower) take(in func(at time.Time)) {
	f.mu.Lock()
	if !f.over {
		in(f.clock.Now())
	}
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// untilOver keeps the screen up to date until all events have ended.
func (f *Follower) untilOver(ctx context.Context) error {
	for {
		over := f.show()
		f.lookAfter(ctx)
		if over {
			return nil
		}
		if err := Pause(ctx, f.clock, f.changed); err != nil {
			f.screen.Clear()
			return err
		}
	}
}

// show says whether all events have ended.
func (f *Follower) show() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := f.clock.Now()
	f.screen.Show(f.stories, now)
	return f.stories.Over(now)
}
