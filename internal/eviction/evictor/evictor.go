// SPDX-License-Identifier: Apache-2.0

package evictor

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain"
	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/responderkit"
)

// Evictor evicts the pods of Evictions when they name it as the active responder.
type Evictor struct {
	config  *rest.Config
	clock   clock.Clock
	drainer *drain.Drainer
}

// New returns an Evictor that acts with the given credentials. It sends no request. The config's rate limit is
// for evictions alone: responderkit has another one for its writes, two requests for a pod that ends at once.
//
// The clock is for the times in Evictions. The observer, which may be nil, counts evictions.
func New(config *rest.Config, c clock.Clock, observer drain.Observer) (*Evictor, error) {
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for evictions: %w", err)
	}
	drainer, err := drain.New(drain.Config{Pods: clients.CoreV1(), Budgets: clients.PolicyV1(), Observer: observer})
	if err != nil {
		return nil, err
	}
	return &Evictor{config: config, clock: c, drainer: drainer}, nil
}

// Run evicts until ctx ends. After that, it sends nothing, and leaves nothing running.
func (e *Evictor) Run(ctx context.Context) error {
	return responderkit.Serve(ctx, responderkit.Config{Name: evictionrequest.Evictor, RESTConfig: e.config, Clock: e.clock}, e.run)
}

// run is the responder's turn for one pod.
func (e *Evictor) run(ctx context.Context, of responderkit.Eviction, report func(responderkit.Progress)) error {
	pod := types.NamespacedName{Namespace: of.Namespace, Name: of.PodName}
	tell := func(p drain.PodProgress) { report(progressOf(p, e.clock.Now())) }
	tell(drain.PodProgress{}) // it replaces the report from before a restart
	if err := e.drainer.EvictPod(ctx, pod, of.PodUID, tell); err != nil {
		return err
	}
	report(responderkit.Progress{Message: "the pod has ended"})
	return nil
}

// endsSoon is the estimate for a pod whose grace period is over. The server takes no time in the past.
const endsSoon = 10 * time.Second

// progressOf returns the Eviction's report about a pod.
func progressOf(p drain.PodProgress, now time.Time) responderkit.Progress {
	progress := responderkit.Progress{Message: "evicting the pod", ExpectedCompletion: p.Ends}
	if !p.Ends.IsZero() && p.Ends.Before(now.Add(endsSoon)) {
		progress.ExpectedCompletion = now.Add(endsSoon)
	}
	switch {
	case p.Blocker.Reason != "":
		progress.Message = "waiting: " + p.Blocker.Message
	case !p.Ends.IsZero():
		progress.Message = "the pod is ending; its grace period is over at " + p.Ends.UTC().Format(time.RFC3339)
	}
	return progress
}
