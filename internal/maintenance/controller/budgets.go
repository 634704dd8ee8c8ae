// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// budgets watches which disruption budgets the pods of each node have, while it is asked for.
// It asks for no pass when that changes: it only says which of several nodes goes first.
type budgets struct {
	client  kubernetes.Interface
	changed func()

	mu      sync.Mutex
	pods    *podShelf[sharedpdbs.Pod]
	budgets *shelf[sharedpdbs.Budget]
	runs    []*filling
	grace   grace

	changes atomic.Int64
	// of are the budgets of each node, as they were after so many changes.
	of    map[string][]string
	after int64
}

// budgetsPatience is for how long no step is done because the budgets are not known: to
// list all pods of a large cluster takes a while.
const budgetsPatience = 30 * time.Second

// onNodes selects the pods that are on a node and have not ended: no budget keeps others.
const onNodes = "spec.nodeName!=,status.phase!=Failed,status.phase!=Succeeded"

func newBudgets(client kubernetes.Interface, changed func()) *budgets {
	return &budgets{client: client, changed: changed}
}

// watch watches them, or not, until ctx ends. It returns until when it is to be waited for
// them; zero: they are known, are not wanted, or cannot be read.
func (b *budgets) watch(ctx context.Context, wanted bool, now time.Time) (until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case wanted && b.runs == nil:
		b.begin(ctx)
		b.grace = grace{now.Add(budgetsPatience)}
	case !wanted && b.runs != nil:
		for _, run := range b.runs {
			run.close()
		}
		b.pods, b.budgets, b.runs, b.of = nil, nil, nil, nil
	}
	if b.runs == nil {
		return time.Time{}
	}
	until, gaveUp := b.grace.wait(now, b.known())
	if gaveUp {
		log.FromContext(ctx).Error(errors.New("pods or disruption budgets cannot be read"),
			"Maintenances go on without looking at which nodes share disruption budgets", "remedy", grant)
	}
	return until
}

func (b *budgets) begin(ctx context.Context) {
	pods, all := b.client.CoreV1().Pods(metav1.NamespaceAll), b.client.PolicyV1().PodDisruptionBudgets(metav1.NamespaceAll)
	b.pods, b.budgets, b.of = &podShelf[sharedpdbs.Pod]{newShelf(sharedpdbs.ReadPod, b.noter())}, newShelf(sharedpdbs.ReadBudget, b.noter()), nil
	b.runs = []*filling{
		fill(ctx, b.pods, &corev1.Pod{}, onNodes, func(ctx context.Context, options metav1.ListOptions) (*corev1.PodList, error) {
			return slimList(pods.List(ctx, options))
		}, pods.Watch),
		fill(ctx, b.budgets, &policyv1.PodDisruptionBudget{}, "", all.List, all.Watch),
	}
}

// noter counts changes of a shelf, and asks for a pass after the first: then all is known.
func (b *budgets) noter() func() {
	var first sync.Once
	return func() {
		b.changes.Add(1)
		first.Do(b.changed)
	}
}

// known says whether all has been shown. It is called with the lock.
func (b *budgets) known() bool { return b.runs != nil && b.pods.isFilled() && b.budgets.isFilled() }

// byNode are the budgets of the pods of each node, as namespace/name; nil while they are not
// known. They are not to be changed.
func (b *budgets) byNode() map[string][]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.known() {
		return nil
	}
	if changes := b.changes.Load(); b.of == nil || b.after != changes {
		pods, _ := b.pods.all()
		all, _ := b.budgets.all()
		b.of, b.after = sharedpdbs.ByNode(pods, all), changes
	}
	return b.of
}

func (b *budgets) close() { b.watch(context.Background(), false, time.Time{}) }
