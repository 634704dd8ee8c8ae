// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/dev/internal/story"
	"github.com/slipway-k8s/slipway/internal/home"
)

// follower takes what a watch shows into a story, and the story onto a screen.
type follower struct {
	mu      sync.Mutex
	story   *story.Story // guarded by mu
	over    bool         // guarded by mu: the story is the caller's, and handlers may still be at work
	changed chan struct{}
	screen  *screen
}

// follow watches a node and an event of that name, has the event applied, and returns
// when it is gone. The story says how it ended.
func follow(ctx context.Context, config *rest.Config, node, event string, s *screen, apply func(context.Context) error) (*story.Story, error) {
	if err := checkNode(ctx, config, node); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	f := &follower{story: story.New(event), changed: make(chan struct{}, 1), screen: s}
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

// checkNode fails with what to do where there is no such node, or no cluster.
func checkNode(ctx context.Context, config *rest.Config, node string) error {
	const patience = 10 * time.Second
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("build a client: %w", err)
	}
	_, err = clients.CoreV1().Nodes().Get(ctx, node, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("there is no node %q; 'bin/kubectl get nodes' lists those of the local cluster", node)
	case err != nil && !errors.Is(err, context.Canceled):
		return fmt.Errorf("the local cluster does not answer; 'make up' starts what is missing of it: %w", err)
	default:
		return err
	}
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
		in(time.Now())
	}
	f.mu.Unlock()
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// untilOver keeps the screen up to date until the event is gone.
func (f *follower) untilOver(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for !f.show() {
		select {
		case <-ctx.Done():
			f.screen.clear()
			return ctx.Err()
		case <-f.changed:
		case <-ticker.C:
		}
	}
	return nil
}

// show says whether the event is gone.
func (f *follower) show() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.screen.show(f.story, time.Now())
	return f.story.Over()
}
