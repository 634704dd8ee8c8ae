// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"sync"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
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

// budgetWatch is that of a namespace. Evictions change the status of one budget after the other, and each change would
// wake all that have pods there: so who says which budgets concern it is woken by no other.
type budgetWatch struct {
	*shelf[*budget]
	stop  context.CancelFunc
	ended chan struct{}

	mu sync.Mutex
	// users are to be woken by these budgets; by any, while nil.
	users map[signal]map[types.UID]bool
}

func newBudgetWatches(client policyv1client.PolicyV1Interface, l *ledger) *budgetWatches {
	return &budgetWatches{client: client, ledger: l, by: map[string]*budgetWatch{}}
}

// join returns the watch of a namespace, and pokes wake with each change that concerns it until leave is called.
func (w *budgetWatches) join(ctx context.Context, namespace string, wake signal) *budgetWatch {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, ok := w.by[namespace]
	if !ok {
		b = w.start(context.WithoutCancel(ctx), namespace) // it may outlive the Drain that began it
		w.by[namespace] = b
	}
	b.concerns(wake, nil)
	return b
}

// leave ends the use of a watch. The last user waits for its end.
func (w *budgetWatches) leave(namespace string, wake signal) {
	w.mu.Lock()
	b := w.by[namespace]
	last := b.without(wake)
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
	b := newBudgetWatch(w.ledger)
	b.stop = stop
	go func() {
		defer close(b.ended)
		follow(ctx, w.client.PodDisruptionBudgets(namespace), &policyv1.PodDisruptionBudget{}, "",
			isReal(w.client.RESTClient()), b.shelf)
	}()
	return b
}

func newBudgetWatch(l *ledger) *budgetWatch {
	b := &budgetWatch{users: map[signal]map[types.UID]bool{}, ended: make(chan struct{})}
	b.shelf = newShelf(toBudget, b.wakeAll)
	b.kept, b.touched = l.observe, b.wake
	b.shape = (*budget).selects
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

// concerns has wake poked by changes of these budgets from now on, and of which budget guards which pod; by all changes
// if it is nil. What has changed before is for the caller to look at.
func (b *budgetWatch) concerns(wake signal, these map[types.UID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users[wake] = these
}

// without forgets a user, and tells whether that was the last one.
func (b *budgetWatch) without(wake signal) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.users, wake)
	return len(b.users) == 0
}

// wake is told which budget has changed, come or gone; none: they were all read anew. reselected: which of them guards
// which pod may be another.
func (b *budgetWatch) wake(uid types.UID, reselected bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for user, these := range b.users {
		if reselected || these == nil || these[uid] {
			user.poke()
		}
	}
}

// wakeAll is told that reading has failed, or does not fail any more.
func (b *budgetWatch) wakeAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for user := range b.users {
		user.poke()
	}
}
