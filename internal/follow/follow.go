// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/home"
	"github.com/slipway-k8s/slipway/internal/story"
)

// follower takes what a watch shows into a story, and the story onto a screen.
type follower struct {
	mu      sync.Mutex
	story   *story.Story // guarded by mu
	over    bool         // guarded by mu: the story is the caller's, and handlers may still be at work
	changed chan struct{}
	screen  *Screen
	clock   clock.WithTicker
}

// Event watches a node and an event of that name, has the event applied, and returns
// when it is gone. The story says how it ended.
func Event(ctx context.Context, config *rest.Config, node, event string, s *Screen, apply func(context.Context) error) (*story.Story, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &follower{story: story.New(event), changed: make(chan struct{}, 1), screen: s, clock: clock.RealClock{}}
	if err := f.watch(ctx, config, node, event); err != nil {
		return nil, fmt.Errorf("watch node %s: %w", node, err)
	}
	f.take(f.story.Begin)
	if err := apply(ctx); err != nil {
		return nil, err
	}
	err := f.untilOver(ctx)
	f.end()
	return f.story, err
}

// end leaves the story as it is.
func (f *follower) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.over = true
}

// watch returns when all that is there has been seen.
func (f *follower) watch(ctx context.Context, config *rest.Config, node, event string) error {
	found, err := findHome(ctx, config)
	if err != nil {
		return err
	}
	watched, err := cache.New(config, cache.Options{
		Scheme: found.Scheme(),
		Mapper: found.Mapper(),
		ByObject: map[client.Object]cache.ByObject{
			&lifecyclev1alpha1.LifecycleEvent{}: {Field: fields.OneTermEqualSelector("metadata.name", event)},
			&corev1.Node{}:                      {Field: fields.OneTermEqualSelector("metadata.name", node)},
			&corev1.Pod{}:                       {Field: fields.OneTermEqualSelector("spec.nodeName", node)},
		},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			f.take(func(at time.Time) { f.story.Lost(err.Error(), at) })
		},
	})
	if err != nil {
		return err
	}
	go func() { _ = watched.Start(ctx) }() // ends with ctx, and for no other reason
	var synced []toolscache.InformerSynced
	for _, kind := range []client.Object{&corev1.Node{}, &corev1.Pod{}, &lifecyclev1alpha1.LifecycleEvent{}} {
		informer, err := watched.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    f.saw,
			UpdateFunc: func(_, object any) { f.saw(object) },
			DeleteFunc: f.gone,
		})
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return context.Cause(ctx)
	}
	return nil
}

func findHome(ctx context.Context, config *rest.Config) (home.Home, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return home.Home{}, fmt.Errorf("build a client: %w", err)
	}
	return home.Find(ctx, config, httpClient)
}

func (f *follower) saw(object any) {
	f.take(func(at time.Time) {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			f.story.SawEvent(o, at)
		case *corev1.Node:
			f.story.SawNode(o, at)
		case *corev1.Pod:
			f.story.SawPod(o, at)
		}
	})
}

func (f *follower) gone(object any) {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	f.take(func(at time.Time) {
		switch o := object.(type) {
		case *lifecyclev1alpha1.LifecycleEvent:
			f.story.EventGone(o, at)
		case *corev1.Pod:
			f.story.PodGone(o, at)
		}
	})
}

// take lets something into the story, at the time it is now.
func (f *follower) take(in func(at time.Time)) {
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

// untilOver keeps the screen up to date until the event is gone.
func (f *follower) untilOver(ctx context.Context) error {
	ticker := f.clock.NewTicker(time.Second)
	defer ticker.Stop()
	for !f.show() {
		select {
		case <-ctx.Done():
			f.screen.clear()
			return ctx.Err()
		case <-f.changed:
		case <-ticker.C():
		}
	}
	return nil
}

// show says whether the event is gone.
func (f *follower) show() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.screen.show(f.story, f.clock.Now())
	return f.story.Over()
}
