// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/slipway-k8s/slipway/internal/evictions"
	"github.com/slipway-k8s/slipway/internal/evictor"
	"github.com/slipway-k8s/slipway/internal/requester"
)

// addEvictions makes the leader do what EvictionRequests ask for, be the responder that
// comes last, which evicts, and ask for the evictions of pods that drains leave to others.
func (p *process) addEvictions(ctx context.Context, self *rest.Config) error {
	requests, err := evictions.New(self, clock.RealClock{})
	if err != nil {
		return fmt.Errorf("build the evictionrequest-controller: %w", err)
	}
	last, err := evictor.New(self, p.observer.Drains())
	if err != nil {
		return fmt.Errorf("build the responder that evicts: %w", err)
	}
	drains, err := requester.New(ctx, requester.Options{
		Self: self, Events: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Clock: clock.RealClock{}, Responds: requester.ByPod,
	})
	if err != nil {
		return fmt.Errorf("build what asks for evictions for drains: %w", err)
	}
	return errors.Join(
		p.manager.Add(manager.RunnableFunc(requests.Run)),
		p.manager.Add(until(requests.Yielded(), last.Run)),
		p.manager.Add(manager.RunnableFunc(drains.Run)),
	)
}

// until runs what is another's to do from a moment on.
func until(yielded <-chan struct{}, run func(context.Context) error) manager.RunnableFunc {
	return func(ctx context.Context) error {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		go func() {
			select {
			case <-yielded:
				stop()
			case <-ctx.Done():
			}
		}()
		return run(ctx)
	}
}
