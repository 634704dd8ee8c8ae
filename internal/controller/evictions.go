// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	evictioncontroller "github.com/slipway-k8s/slipway/internal/eviction/controller"
	"github.com/slipway-k8s/slipway/internal/eviction/evictor"
	"github.com/slipway-k8s/slipway/internal/eviction/requester"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	surgecontroller "github.com/slipway-k8s/slipway/internal/eviction/surge/controller"
)

// addEvictions makes the leader do what EvictionRequests ask for, be the responders that
// Slipway brings, and ask for the evictions of pods that drains leave to responders.
func (p *process) addEvictions(ctx context.Context, self *rest.Config) error {
	responds, options, err := p.addSurge(self)
	if err != nil {
		return err
	}
	requests, err := evictioncontroller.New(self, p.judged, options...)
	if err != nil {
		return fmt.Errorf("build the evictionrequest-controller: %w", err)
	}
	last, err := evictor.New(self, p.judged, p.observer.Drains())
	if err != nil {
		return fmt.Errorf("build the responder that evicts: %w", err)
	}
	drains, err := requester.New(ctx, requester.Options{
		Self: self, Events: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Clock: p.clock, Responds: responds,
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

// addSurge adds the surge responder, and says for which pods anybody responds then.
func (p *process) addSurge(self *rest.Config) (requester.Responds, []evictioncontroller.Option, error) {
	s, err := surgecontroller.New(self, p.judged, p.options.Surge)
	if err != nil {
		return nil, nil, fmt.Errorf("build the surge responder: %w", err)
	}
	if p.options.Surge == surgecontroller.Off { // it gives back what it had released
		return requester.ByPod, nil, p.manager.Add(manager.RunnableFunc(s.Run))
	}
	responds := func(ctx context.Context, pod *corev1.Pod) (bool, error) {
		if named, err := requester.ByPod(ctx, pod); named || err != nil {
			return named, err
		}
		return s.Applies(ctx, pod)
	}
	options := []evictioncontroller.Option{evictioncontroller.WithResponder(surge.Itself(), s.Applies)}
	return responds, options, p.manager.Add(manager.RunnableFunc(s.Run))
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
