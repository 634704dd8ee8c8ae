// SPDX-License-Identifier: Apache-2.0

package contender

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/watch"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// follower has seen events.
type follower struct {
	watch.Interface
	phases map[string]lifecyclev1alpha1.ClaimStatus // the last of each event
	left   map[string]bool                          // those that are deleted
}

func (p *slipway) follow(ctx context.Context) (*follower, error) {
	w, err := p.events.Watch(ctx, &lifecyclev1alpha1.LifecycleEventList{})
	if err != nil {
		return nil, fmt.Errorf("watch events: %w", err)
	}
	return &follower{Interface: w, phases: map[string]lifecyclev1alpha1.ClaimStatus{}, left: map[string]bool{}}, nil
}

// succeeded waits until the events of all nodes have.
func (f *follower) succeeded(ctx context.Context, nodes []string) error {
	return f.until(ctx, nodes, func(name string) (bool, error) {
		phase := f.phases[name]
		if phase == lifecyclev1alpha1.Failed || phase == lifecyclev1alpha1.SlaExpired {
			return false, fmt.Errorf("event %s ended as %s", name, phase)
		}
		return phase == lifecyclev1alpha1.Succeeded, nil
	})
}

// gone waits until the events of all nodes are.
func (f *follower) gone(ctx context.Context, nodes []string) error {
	return f.until(ctx, nodes, func(name string) (bool, error) { return f.left[name], nil })
}

func (f *follower) until(ctx context.Context, nodes []string, done func(event string) (bool, error)) error {
	for {
		all := true
		for _, node := range nodes {
			ok, err := done(eventName(node))
			if err != nil {
				return err
			}
			all = all && ok
		}
		if all {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case event, open := <-f.ResultChan():
			if !open {
				return errors.New("the watch of events ended")
			}
			f.saw(event)
		}
	}
}

func (f *follower) saw(event watch.Event) {
	if e, ok := event.Object.(*lifecyclev1alpha1.LifecycleEvent); ok {
		f.phases[e.Name] = e.Status.ClaimStatus
		f.left[e.Name] = event.Type == watch.Deleted
	}
}
