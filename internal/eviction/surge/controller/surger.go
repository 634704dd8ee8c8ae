// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/responderkit"
)

// Scope says which workloads the responder is for.
type Scope string

// The scopes.
const (
	// Off: for none. What a process before has released is given back.
	Off Scope = "off"
	// Labelled: for pods with the label, and for those in namespaces with it.
	Labelled Scope = "labelled"
	// Blocked: for these, and for pods whose budget can never allow an eviction.
	Blocked Scope = "blocked"
)

// Surger is the surge responder.
type Surger struct {
	config  *rest.Config
	clients kubernetes.Interface
	clock   clock.WithTicker
	scope   Scope
	seen    *lookup

	mu      sync.Mutex
	at      map[string]*namespace
	running sync.WaitGroup
	ctx     context.Context //nolint:containedctx // that of Run, under which work on a namespace begins later
}

// New returns a responder that acts with the given credentials. It makes no request.
func New(config *rest.Config, c clock.WithTicker, scope Scope) (*Surger, error) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // CRDs know nothing else
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for the surge responder: %w", err)
	}
	return &Surger{config: config, clients: clients, clock: c, scope: scope, seen: newLookup(clients, c), at: map[string]*namespace{}}, nil
}

// Run works until ctx ends. It leaves nothing running.
func (s *Surger) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	s.mu.Lock()
	s.ctx = ctx
	s.mu.Unlock()
	defer s.running.Wait()
	defer stop()
	s.running.Go(func() { s.resume(ctx) })
	if s.scope == Off {
		<-ctx.Done()
		return nil
	}
	return responderkit.Serve(ctx, responderkit.Config{Name: surge.Responder, RESTConfig: s.config, Clock: s.clock}, s.turn)
}

// turn is one turn of ours, until it is over.
func (s *Surger) turn(ctx context.Context, e responderkit.Eviction, report func(responderkit.Progress)) error {
	t := &turn{
		eviction: e, since: s.clock.Now(), over: make(chan struct{}),
		report: func(message string) { report(responderkit.Progress{Message: message}) },
	}
	n := s.enter(e.Namespace, t)
	defer n.leave(t)
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter has a namespace worked on, if it is not yet; with a turn, if there is one.
func (s *Surger) enter(name string, t *turn) *namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.at[name]
	if !ok {
		n = newNamespace(s, name)
		s.at[name] = n
		s.running.Go(func() { n.run(s.ctx) })
	}
	if t != nil {
		n.join(t)
	}
	return n
}

// close ends the work on a namespace, unless there is a turn by now.
func (s *Surger) close(n *namespace) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n.hasTurns() {
		return false
	}
	delete(s.at, n.name)
	return true
}

// resume finds the pods that a process before has released.
func (s *Surger) resume(ctx context.Context) {
	backoff := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.2, Steps: 6, Cap: time.Minute}
	for {
		pods, err := s.clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: surge.LabelReleased})
		if err == nil {
			for _, pod := range pods.Items {
				s.enter(pod.Namespace, nil)
			}
			return
		}
		if ctx.Err() != nil {
			return
		}
		log.FromContext(ctx).Error(err, "Pods that were released for a replacement cannot be listed; trying again")
		if !s.pause(ctx, backoff.Step()) {
			return
		}
	}
}

// pause is false if ctx ended.
func (s *Surger) pause(ctx context.Context, d time.Duration) bool {
	timer := s.clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return true
	case <-ctx.Done():
		return false
	}
}
