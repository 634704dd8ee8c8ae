// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"
)

// budgetWatches are the watches of the budgets of namespaces, each shared by the Drains that have pods there. A watch
// runs from its first to its last user.
type budgetWatches struct {
	client policyv1client.PolicyV1Interface
	ledger *ledger

	mu sync.Mutex
	by map[string]*budgetWatch
}

type budgetWatch struct {
	*shelf[*budget]
	users map[signal]struct{} // guarded by budgetWatches.mu
	stop  context.CancelFunc
	ended chan struct{}
}

func newBudgetWatches(client policyv1client.PolicyV1Interface, l *ledger) *budgetWatches {
	return &budgetWatches{client: client, ledger: l, by: map[string]*budgetWatch{}}
}

// join returns the watch of a namespace, and pokes wake with each change until leave is called.
func (w *budgetWatches) join(ctx context.Context, namespace string, wake signal) *budgetWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, ok := w.by[namespace]
	if !ok {
		b = w.start(context.WithoutCancel(ctx), namespace) // it may outlive the Drain that began it
		w.by[namespace] = b
	}
	b.users[wake] = struct{}{}
	return b
}

// leave ends the use of a watch. The last user waits for its end.
func (w *budgetWatches) leave(namespace string, wake signal) {
	w.mu.Lock()
	b := w.by[namespace]
	delete(b.users, wake)
	last := len(b.users) == 0
	if last {
		delete(w.by, namespace)
	}
	w.mu.Unlock()
	if last {
		b.stop()
		<-b.ended
		w.ledger.forget(namespace)
	}
}

func (w *budgetWatches) start(ctx context.Context, namespace string) *budgetWatch {
	ctx, stop := context.WithCancel(ctx)
	b := &budgetWatch{users: map[signal]struct{}{}, stop: stop, ended: make(chan struct{})}
	b.shelf = newShelf(toBudget, func() { w.wake(b) })
	b.kept = w.ledger.observe
	go func() {
		defer close(b.ended)
		follow(ctx, w.client.PodDisruptionBudgets(namespace), &policyv1.PodDisruptionBudget{}, "",
			isReal(w.client.RESTClient()), b.shelf)
	}()
	return b
}

func toBudget(obj any) *budget {
	pdb, ok := obj.(*policyv1.PodDisruptionBudget)
	if !ok {
		pdb = &policyv1.PodDisruptionBudget{}
	}
	pdb.ManagedFields = nil
	return newBudget(pdb)
}

func (w *budgetWatches) wake(b *budgetWatch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for user := range b.users {
		user.poke()
	}
}
