// SPDX-License-Identifier: Apache-2.0

package contender

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
	"github.com/slipway-k8s/slipway/bench/internal/controller"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

// The transitions of the drain driver.
const (
	drainTransition  = "drain.slm.k8s.io"
	returnTransition = "drain.slm.k8s.io-uncordon"
)

// sla is longer than any drain takes.
const sla = time.Hour

type slipway struct {
	stage  *stage.Stage
	events client.WithWatch
}

// newSlipway is for nodes whose agents have been started. That they are there shows in the
// first drain, which is not measured.
func newSlipway(s *stage.Stage) (*slipway, error) {
	in := apigroup.In(stage.Group)
	events, err := client.NewWithWatch(s.Config("slipway-bench"), client.Options{Scheme: in.Scheme(), Mapper: in.Mapper()})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return &slipway{stage: s, events: events}, nil
}

func (p *slipway) Name() string { return Slipway }

// Drain implements Contender.
func (p *slipway) Drain(ctx context.Context, scene *stage.Scene, blocked time.Duration) (Times, error) {
	if scene.Fleet > 0 {
		return during(ctx, blocked, func(ctx context.Context) error { return p.maintain(ctx, scene) })
	}
	f, err := p.follow(ctx)
	if err != nil {
		return Times{}, err
	}
	defer f.Stop()
	times, err := during(ctx, blocked, func(ctx context.Context) error {
		if err := p.ask(ctx, drainTransition, scene.Drained); err != nil {
			return err
		}
		return f.succeeded(ctx, scene.Drained)
	})
	if err != nil {
		return times, err
	}
	if blocked > 0 {
		if err := p.cancel(ctx, scene.Drained); err != nil {
			return times, err
		}
	}
	err = f.gone(ctx, scene.Drained)
	if blocked == 0 {
		times.Over = time.Now()
	}
	return times, err
}

// Return implements Contender. Where a drain was cancelled, its cordon is undone
// already, and this does nothing.
func (p *slipway) Return(ctx context.Context, nodes []string) error {
	f, err := p.follow(ctx)
	if err != nil {
		return err
	}
	defer f.Stop()
	if err := p.ask(ctx, returnTransition, nodes); err != nil {
		return err
	}
	if err := errors.Join(f.succeeded(ctx, nodes), f.gone(ctx, nodes)); err != nil {
		return err
	}
	return p.stage.AwaitSchedulable(ctx, nodes)
}

// Sent implements Contender.
func (p *slipway) Sent(r auditlog.Request) bool {
	return r.User == stage.AgentUser || r.User == controller.User
}

// ask creates an event for each node.
func (p *slipway) ask(ctx context.Context, transition string, nodes []string) error {
	for _, node := range nodes {
		event := &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metav1.ObjectMeta{Name: eventName(node)},
			Spec: lifecyclev1alpha1.LifecycleEventSpec{
				TransitionName: transition, BindingNode: node, SLA: &metav1.Duration{Duration: sla},
			},
		}
		if err := p.events.Create(ctx, event); err != nil {
			return fmt.Errorf("ask for %s of %s: %w", transition, node, err)
		}
	}
	return nil
}

func (p *slipway) cancel(ctx context.Context, nodes []string) error {
	for _, node := range nodes {
		event := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: eventName(node)}}
		if err := p.events.Delete(ctx, event); err != nil {
			return fmt.Errorf("cancel the drain of %s: %w", node, err)
		}
	}
	return nil
}

func eventName(node string) string { return "bench-" + node }
