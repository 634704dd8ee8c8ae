// SPDX-License-Identifier: Apache-2.0

package agent

import (
	"context"
	"errors"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/lifecycle/transition"
)

// standDown records whether the agent leaves the events of its node to the kubelet.
type standDown struct {
	is      atomic.Bool
	changed func()
}

var errStandsDown = errors.New("the API server serves LifecycleEvents itself, and the kubelet declares " + transition.KubeletFeature +
	": it claims the events of this node, and the agent claims none. Register the drivers with the kubelet, and remove the agent from the node")

func (s *standDown) set(ctx context.Context, is bool) {
	if s.is.Swap(is) == is {
		return
	}
	if is {
		log.FromContext(ctx).Error(errStandsDown, "Standing down")
	} else {
		log.FromContext(ctx).Info("The kubelet no longer claims LifecycleEvents; resuming")
	}
	s.changed()
}

// check is a readiness check. /readyz/kubelet serves its message.
func (s *standDown) check() error {
	if s.is.Load() {
		return errStandsDown
	}
	return nil
}

// listed returns the drivers that the agent lists on the Node: an agent that stands down calls none.
func (s *standDown) listed(names func() []string) func() []string {
	return func() []string {
		if s.is.Load() {
			return nil
		}
		return names()
	}
}
