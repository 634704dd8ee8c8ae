// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/responderkit"
)

// Evictor evicts the pods of Evictions when its turn comes.
type Evictor struct {
	config  *rest.Config
	clock   clock.Clock
	drainer *drain.Drainer
}

// New returns an Evictor that acts with the given credentials. It makes no request. Evictions have
// the config's rate limit for themselves: what the responders' kit writes about them, two requests for
// a pod that goes at once, has another.
//
// The clock is for the times that it writes into Evictions. The observer, if not nil, is told what
// becomes of evictions.
func New(config *rest.Config, c clock.Clock, observer Observer) (*Evictor, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for evictions: %w", err)
	}
	drainer, err := drain.New(drain.Config{Pods: clients.CoreV1(), Budgets: clients.PolicyV1(), Observer: observerOf(observer)})
	if err != nil {
		return nil, err
	}
	return &Evictor{config: config, clock: c, drainer: drainer}, nil
}

// Run evicts until ctx ends. Then it sends nothing more, and leaves nothing running.
func (e *Evictor) Run(ctx context.Context) error {
	return responderkit.Serve(ctx, responderkit.Config{Name: evictionrequest.Evictor, RESTConfig: e.config, Clock: e.clock}, e.run)
}

// run is the responder's turn for one pod.
func (e *Evictor) run(ctx context.Context, of responderkit.Eviction, report func(responderkit.Progress)) error {
	pod := types.NamespacedName{Namespace: of.Namespace, Name: of.PodName}
	report(say(drain.PodProgress{})) // in the place of what was said before a restart
	return e.drainer.EvictPod(ctx, pod, of.PodUID, func(p drain.PodProgress) { report(say(p)) })
}
