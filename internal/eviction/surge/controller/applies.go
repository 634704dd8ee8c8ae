// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/singleflight"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilcache "k8s.io/apimachinery/pkg/util/cache"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

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
