// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
	"github.com/slipway-k8s/slipway/internal/platform/loop"
	"github.com/slipway-k8s/slipway/responderkit"
)

// Scope selects the workloads of the responder.
type Scope string

// The scopes.
const (
	// Off: no workload. The responder returns pods that an earlier process has released.
	Off Scope = "off"
	// Labelled: pods with the label, and those in namespaces with the label.
	Labelled Scope = "labelled"
	// Blocked: the same, and pods whose eviction their PodDisruptionBudget never allows.
	Blocked Scope = "blocked"
)

const (
	// workers limits the namespaces that are processed in parallel.
	workers = 16
	// linger is the time for which a namespace without work is still watched: a drain's next pod is often in the same
	// namespace.
	linger = time.Minute
)

// Surger is the surge responder.
type Surger struct {
	config  *rest.Config
	clients kubernetes.Interface
	clock   clock.WithTicker
	scope   Scope
	labels  *lookup[map[string]string]               // of namespaces
	budgets *lookup[[]*policyv1.PodDisruptionBudget] // in namespaces
	loop    *loop.Loop[string]                       // by namespace

	mu sync.Mutex
	at map[string]*namespace
}

// New returns a responder that acts with the given credentials. It sends no request.
func New(config *rest.Config, c clock.WithTicker, scope Scope) (*Surger, error) {
	config = rest.CopyConfig(config)
	config.ContentType = "application/json" // CRDs know no other
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("build a client for the surge responder: %w", err)
	}
	s := &Surger{config: config, clients: clients, clock: c, scope: scope, at: map[string]*namespace{}}
	s.labels, s.budgets = newLookup(c, s.readLabels), newLookup(c, s.listBudgets)
	return s, nil
}

// Run works until ctx ends. It leaves no goroutine running.
func (s *Surger) Run(ctx context.Context) (err error) {
	if s.loop, err = loop.New(ctx, "surge", "namespace", workers, s.clock, s); err != nil {
		return err
	}
	defer s.loop.Close()
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer func() {
		stop()
		running.Wait()
		for _, n := range s.at {
			n.close()
		}
	}()
	failed := make(chan error, 1)
	running.Go(func() { failed <- s.loop.Run(ctx) })
	s.loop.Add(metav1.NamespaceAll)
	if s.scope == Off {
		return <-failed
	}
	return responderkit.Serve(ctx, responderkit.Config{Name: surge.Responder, RESTConfig: s.config, Clock: s.clock}, s.run)
}

// run is responderkit's function for one Eviction.
func (s *Surger) run(ctx context.Context, e responderkit.Eviction, report func(responderkit.Progress)) error {
	t := &run{
		eviction: e, since: s.clock.Now(), over: make(chan struct{}),
		report: func(message string) { report(responderkit.Progress{Message: message}) },
	}
	n := s.enter(e.Namespace, t)
	defer func() {
		n.runs.remove(t)
		s.loop.Add(n.name)
	}()
	select {
	case <-t.over:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter begins to work on a namespace, with a run unless it is nil.
func (s *Surger) enter(name string, t *run) *namespace {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.at[name]
	if !ok {
		n = newNamespace(s, name)
		s.at[name] = n
	}
	if t != nil {
		n.runs.add(t)
	}
	s.loop.Add(name)
	return n
}

// leave ends the work on a namespace without runs.
func (s *Surger) leave(n *namespace) {
	s.mu.Lock()
	hasTurns := len(n.runs.all()) > 0
	if !hasTurns {
		delete(s.at, n.name)
	}
	s.mu.Unlock()
	if !hasTurns {
		n.close()
	}
}

// Reconcile works on a namespace; for all namespaces, it finds those with released pods of an earlier process.
func (s *Surger) Reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	if name == metav1.NamespaceAll {
		return reconcile.Result{}, s.resume(ctx)
	}
	s.mu.Lock()
	n := s.at[name]
	s.mu.Unlock()
	if n == nil {
		return reconcile.Result{}, nil
	}
	if known, err := n.watch(ctx); err != nil || !known {
		return reconcile.Result{}, err
	}
	busy, wake, err := n.pass(ctx)
	if ctx.Err() != nil {
		return reconcile.Result{}, nil //nolint:nilerr // the process ends, which is no failure
	}
	switch now := s.clock.Now(); {
	case busy || err != nil:
		n.idle = time.Time{}
	case n.idle.IsZero():
		n.idle, wake = now, now.Add(linger)
	case !now.Before(n.idle.Add(linger)):
		s.leave(n)
		return reconcile.Result{}, nil
	default:
		wake = n.idle.Add(linger)
	}
	s.loop.AddAt(name, wake)
	return reconcile.Result{}, err
}

// resume begins to work on the namespaces with pods that an earlier process has released.
func (s *Surger) resume(ctx context.Context) error {
	pods, err := s.clients.CoreV1().Pods(metav1.NamespaceAll).List(ctx, metav1.ListOptions{LabelSelector: surge.LabelReleased})
	if err != nil {
		return fmt.Errorf("list the pods released for a replacement: %w", err)
	}
	for _, pod := range pods.Items {
		s.enter(pod.Namespace, nil)
	}
	return nil
}

// Applies reports whether the responder precedes the eviction of the pod: because of the pod's label, or the label of
// its namespace, or, in scope Blocked, its PodDisruptionBudget. It uses the API server's answers for a few seconds. It
// fails until the budget has counted the pod.
func (s *Surger) Applies(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !surge.IsCandidate(pod) {
		return false, nil
	}
	if wanted, said := surge.OptIn(pod.Labels); said {
		return wanted, nil
	}
	labels, err := s.labels.get(ctx, pod.Namespace)
	if err != nil {
		return false, err
	}
	if wanted, said := surge.OptIn(labels); said || s.scope != Blocked {
		return wanted, nil
	}
	budgets, err := s.budgets.get(ctx, pod.Namespace)
	if err != nil {
		return false, err
	}
	never, known := drain.NeverEvictable(pod, budgets)
	if !known && s.clock.Now().Before(beginning(pod, budgets).Add(countedWithin)) {
		s.budgets.forget(pod.Namespace)
		return false, errNotCounted
	}
	return never, nil
}

// countedWithin is the maximum time that the controller of budgets takes to count a pod. After that, it does not run or
// never counts the pod, and other responders need not wait.
const countedWithin = time.Minute

// beginning returns the time from which on the pod and all of the budgets existed.
func beginning(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) time.Time {
	last := pod.CreationTimestamp.Time
	for _, b := range budgets {
		if b.CreationTimestamp.After(last) {
			last = b.CreationTimestamp.Time
		}
	}
	return last
}

// errNotCounted is for a pod whose eviction is requested right after its creation.
var errNotCounted = errors.New("the controller of disruption budgets has yet to count the pod for its budget")

const (
	// believed is the time for which an answer is used: many pods of a node are in the same namespace, and their
	// evictions are requested in the same second.
	believed = 5 * time.Second
	// requestTimeout bounds a request: other pods wait for its answer as well.
	requestTimeout = 10 * time.Second
)

// lookup reads facts about namespaces, once for all callers within a few seconds.
type lookup[T any] struct {
	read  func(ctx context.Context, namespace string) (T, error)
	known *utilcache.Expiring
	flow  singleflight.Group
}

func newLookup[T any](c clock.Clock, read func(context.Context, string) (T, error)) *lookup[T] {
	return &lookup[T]{read: read, known: utilcache.NewExpiringWithClock(c)}
}

func (l *lookup[T]) get(ctx context.Context, namespace string) (T, error) {
	found, err, _ := l.flow.Do(namespace, func() (any, error) {
		if known, ok := l.known.Get(namespace); ok {
			return known, nil
		}
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		found, err := l.read(ctx, namespace)
		if err == nil {
			l.known.Set(namespace, found, believed)
		}
		return found, err
	})
	return found.(T), err
}

// forget drops the answer about a namespace.
func (l *lookup[T]) forget(namespace string) { l.known.Delete(namespace) }

func (s *Surger) readLabels(ctx context.Context, namespace string) (map[string]string, error) {
	found, err := s.clients.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
	if err != nil {
		return nil, fmt.Errorf("read namespace %s: %w", namespace, err)
	}
	return found.Labels, nil
}

func (s *Surger) listBudgets(ctx context.Context, namespace string) ([]*policyv1.PodDisruptionBudget, error) {
	list, err := s.clients.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the budgets of namespace %s: %w", namespace, err)
	}
	budgets := make([]*policyv1.PodDisruptionBudget, len(list.Items))
	for i := range list.Items {
		budgets[i] = &list.Items[i]
	}
	return budgets, nil
}
