// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

const (
	drainTransition  = "drain.slm.k8s.io"
	returnTransition = "drain.slm.k8s.io-uncordon"
	// sla is longer than any drain takes.
	sla = time.Hour
)

// carryOut asks for a transition of the nodes, all at once, and waits until all events
// have succeeded and are gone. It returns how many were under way at a time at most.
func (g *stage) carryOut(ctx context.Context, transition string, nodes []string) (atOnce int, err error) {
	w, err := g.events.Watch(ctx, &lifecyclev1alpha1.LifecycleEventList{})
	if err != nil {
		return 0, fmt.Errorf("watch events: %w", err)
	}
	defer w.Stop()
	asking, asked := errgroup.WithContext(ctx)
	asking.SetLimit(sideBySide)
	for _, node := range nodes {
		asking.Go(func() error { return g.ask(asked, transition, node) })
	}
	if err := asking.Wait(); err != nil {
		return 0, err
	}
	return g.await(w, len(nodes))
}

func (g *stage) ask(ctx context.Context, transition, node string) error {
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: eventOf(node)},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{
			TransitionName: transition, BindingNode: node, SLA: &metav1.Duration{Duration: sla},
		},
	}
	if err := g.events.Create(ctx, event); err != nil {
		return fmt.Errorf("ask for %s of %s: %w", transition, node, err)
	}
	return nil
}

// eventOf is the name of a node's event.
func eventOf(node string) string { return "soak-" + node }

// await returns when so many events have succeeded and are gone.
func (g *stage) await(w watch.Interface, want int) (atOnce int, err error) {
	claimed, gone := map[string]bool{}, 0
	told := time.Now()
	for seen := range w.ResultChan() {
		e, ok := seen.Object.(*lifecyclev1alpha1.LifecycleEvent)
		if !ok {
			return atOnce, fmt.Errorf("watch events: %+v", seen.Object)
		}
		delete(claimed, e.Name)
		switch phase := e.Status.ClaimStatus; {
		case phase == lifecyclev1alpha1.Claimed:
			claimed[e.Name] = true
			atOnce = max(atOnce, len(claimed))
		case phase.Terminal() && phase != lifecyclev1alpha1.Succeeded:
			return atOnce, fmt.Errorf("%s ended as %s: %+v", e.Name, phase, e.Status.Conditions)
		case seen.Type == watch.Deleted:
			gone++
		}
		if gone == want {
			return atOnce, nil
		}
		if time.Since(told) > progressPeriod {
			g.say("%d of %d have ended, %d are under way", gone, want, len(claimed))
			told = time.Now()
		}
	}
	return atOnce, errors.New("the watch of events ended")
}
