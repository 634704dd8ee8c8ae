// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// Applies tells whether the responder is to have a turn before the pod is evicted: its
// label says so, or that of its namespace, or, in scope Blocked, its budget. It asks the
// server, and believes the answers for a few seconds. It fails while the budget says nothing yet.
func (s *Surger) Applies(ctx context.Context, pod *corev1.Pod) (bool, error) {
	if !surge.IsCandidate(pod) {
		return false, nil
	}
	if wanted, said := surge.OptIn(pod.Labels); said {
		return wanted, nil
	}
	labels, err := s.seen.labels(ctx, pod.Namespace)
	if err != nil {
		return false, err
	}
	if wanted, said := surge.OptIn(labels); said || s.scope != Blocked {
		return wanted, nil
	}
	budgets, err := s.seen.budgets(ctx, pod.Namespace)
	if err != nil {
		return false, err
	}
	never, known := drain.NeverEvictable(pod, budgets)
	if !known && s.clock.Now().Before(beginning(pod, budgets).Add(countedWithin)) {
		s.seen.forget(pod.Namespace)
		return false, errNotCounted
	}
	return never, nil
}

// countedWithin is how long the controller of budgets may take to count a pod. Later than that it is off, or never counts
// it, and other responders need not wait.
const countedWithin = time.Minute

// beginning is when the pod and all of the budgets were there.
func beginning(pod *corev1.Pod, budgets []*policyv1.PodDisruptionBudget) time.Time {
	last := pod.CreationTimestamp.Time
	for _, b := range budgets {
		if b.CreationTimestamp.After(last) {
			last = b.CreationTimestamp.Time
		}
	}
	return last
}

// errNotCounted is for a pod that is asked about as soon as it is there.
var errNotCounted = errors.New("the controller of disruption budgets has yet to count the pod for its budget")

// believed is how long an answer is believed: of the pods of a node, many are of the same
// namespace and are asked for in the same second.
const believed = 5 * time.Second

// requestTimeout is how long an answer is waited for: others wait for it as well.
const requestTimeout = 10 * time.Second

// lookup is what the server has said of namespaces a moment ago.
type lookup struct {
	clients kubernetes.Interface
	clock   clock.PassiveClock

	mu sync.Mutex
	of map[string]*answers
}

// answers are those about one namespace. Who asks for them has the lock.
type answers struct {
	until time.Time // and does not change

	mu        sync.Mutex
	namespace *corev1.Namespace
	budgets   []*policyv1.PodDisruptionBudget
	listed    bool
}

func newLookup(clients kubernetes.Interface, c clock.PassiveClock) *lookup {
	return &lookup{clients: clients, clock: c, of: map[string]*answers{}}
}

// labels are those of the namespace.
func (l *lookup) labels(ctx context.Context, namespace string) (map[string]string, error) {
	a := l.about(namespace)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.namespace == nil {
		ctx, cancel := context.WithTimeout(ctx, requestTimeout)
		defer cancel()
		found, err := l.clients.CoreV1().Namespaces().Get(ctx, namespace, metav1.GetOptions{})
		if err != nil {
			return nil, fmt.Errorf("read namespace %s: %w", namespace, err)
		}
		a.namespace = found
	}
	return a.namespace.Labels, nil
}

// budgets are those in the namespace.
func (l *lookup) budgets(ctx context.Context, namespace string) ([]*policyv1.PodDisruptionBudget, error) {
	a := l.about(namespace)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.listed {
		return a.budgets, nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	list, err := l.clients.PolicyV1().PodDisruptionBudgets(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the budgets of namespace %s: %w", namespace, err)
	}
	a.listed = true
	for i := range list.Items {
		a.budgets = append(a.budgets, &list.Items[i])
	}
	return a.budgets, nil
}

// forget has the server asked again about the namespace.
func (l *lookup) forget(namespace string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, namespace)
}

// about is what was said of the namespace a moment ago, which may be nothing. What is too
// old is forgotten.
func (l *lookup) about(namespace string) *answers {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now()
	for name, a := range l.of {
		if !now.Before(a.until) {
			delete(l.of, name)
		}
	}
	if l.of[namespace] == nil {
		l.of[namespace] = &answers{until: now.Add(believed)}
	}
	return l.of[namespace]
}
