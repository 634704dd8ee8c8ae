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
	"github.com/slipway-k8s/slipway/internal/requester"
)

// addEvictions makes the leader do what EvictionRequests ask for.
func (p *process) addEvictions(ctx context.Context, self *rest.Config) error {
	requests, err := evictions.New(self, clock.RealClock{})
	if err != nil {
		return fmt.Errorf("build the evictionrequest-controller: %w", err)
	}
	drains, err := requester.New(ctx, requester.Options{
		Self: self, Events: p.manager.GetCache(), Live: p.manager.GetAPIReader(), Clock: clock.RealClock{}, Responds: requester.ByPod,
	})
	if err != nil {
		return fmt.Errorf("build what asks for evictions for drains: %w", err)
	}
	return errors.Join(
		p.manager.Add(manager.RunnableFunc(requests.Run)),
		p.manager.Add(manager.RunnableFunc(drains.Run)),
	)
}
