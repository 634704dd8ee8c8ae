// SPDX-License-Identifier: Apache-2.0

package contender

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"

	"github.com/slipway-k8s/slipway/bench/drain/internal/ideal"
	"github.com/slipway-k8s/slipway/bench/drain/internal/stage"
	"github.com/slipway-k8s/slipway/test/auditlog"
)

const idealUserAgent = "slipway-bench-ideal"

type idealEvictor struct {
	stage   *stage.Stage
	clients kubernetes.Interface
}

func newIdeal(s *stage.Stage) (*idealEvictor, error) {
	clients, err := s.Clients(idealUserAgent)
	return &idealEvictor{stage: s, clients: clients}, err
}

func (e *idealEvictor) Name() string { return Ideal }

// Drain implements Contender.
func (e *idealEvictor) Drain(ctx context.Context, scene *stage.Scene, blocked time.Duration) (Times, error) {
	return during(ctx, blocked, func(ctx context.Context) error {
		return ideal.Drain(ctx, e.clients, scene.Namespace, scene.Drained)
	})
}

// Return implements Contender.
func (e *idealEvictor) Return(ctx context.Context, nodes []string) error {
	return e.stage.Uncordon(ctx, nodes)
}

// Sent implements Contender.
func (e *idealEvictor) Sent(r auditlog.Request) bool { return r.UserAgent == idealUserAgent }
