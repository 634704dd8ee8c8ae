// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	policyv1client "k8s.io/client-go/kubernetes/typed/policy/v1"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// budgetWatches are the watches of the budgets of namespaces, each shared by the Drains that have pods there. A watch
// runs from its first to its last user.
type budgetWatches struct {
	client policyv1client.PolicyV1Interface
	queue  *budgetQueue

	mu sync.Mutex
	by map[string]*budgetWatch
}

// budgetWatch is that of a namespace. Evictions change the status of one budget after the other, and each change would
// wake all loops that have pods there: so a loop that names the budgets that concern it is woken by no other.
type budgetWatch struct {
	*watchstore.Store[*budget]
	stop func()

	mu sync.Mutex
	// users are the loops to wake, and the budgets that concern each. Nil: all do.
	users map[watchstore.Signal]map[types.UID]bool
}

func newBudgetWatches(client policyv1client.PolicyV1Interface, l *budgetQueue) *budgetWatches {
	return &budgetWatches{client: client, queue: l, by: map[string]*budgetWatch{}}
}

// join returns the watch of a namespace, and pokes wake with each change that concerns it until leave is called.
func (w *budgetWatches) join(ctx context.Context, namespace string, wake watchstore.Signal) *budgetWatch {
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
func (w *budgetWatches) leave(namespace string, wake watchstore.Signal) {
	w.mu.Lock()
	b := w.by[namespace]
	last := b.without(wake)
	if last {
		delete(w.by, namespace)
	}
	w.mu.Unlock()
	if last {
		b.stop()
		w.queue.forget(namespace)
	}
}

func (w *budgetWatches) start(ctx context.Context, namespace string) *budgetWatch {
	b := newBudgetWatch(w.queue)
	b.stop = b.Start(ctx, budgetSource(w.client, namespace))
	return b
}

func newBudgetWatch(l *budgetQueue) *budgetWatch {
	b := &budgetWatch{users: map[watchstore.Signal]map[types.UID]bool{}}
	b.Store = watchstore.New(watchstore.Options[*budget]{
		Convert: toBudget,
		Same:    func(before, after *budget) bool { return before.selects() == after.selects() },
		Changed: func(c watchstore.Change[*budget]) {
			b.observe(c, l)
			b.wake(c)
		},
	})
	return b
}

// observe shows the queue what is new before any user wakes.
func (b *budgetWatch) observe(c watchstore.Change[*budget], l *budgetQueue) {
	switch {
	case c.After != nil:
		l.observe(*c.After)
	case c.UID == "" && c.Differs:
		all, _ := b.List()
		for _, budget := range all {
			l.observe(budget)
		}
	}
}

// concerns has wake poked by changes of these budgets from now on, and of which budget guards which pod; by all changes
// if it is nil. What has changed before is for the caller to look at.
func (b *budgetWatch) concerns(wake watchstore.Signal, these map[types.UID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users[wake] = these
}

// without forgets a user, and tells whether that was the last one.
func (b *budgetWatch) without(wake watchstore.Signal) (last bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.users, wake)
	return len(b.users) == 0
}

// wake wakes the users that a change concerns: of one budget, those whose pods it guards, and where it differs, all, as it
// may guard other pods now.
func (b *budgetWatch) wake(c watchstore.Change[*budget]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for user, these := range b.users {
		if c.UID == "" || c.Differs || these == nil || these[c.UID] {
			user.Poke()
		}
	}
}

// guarding are the budgets of a namespace that guard a pod of a loop. A namespace may have many more, which change all the
// time: the loop looks at its own only, and finds out which they are when pods or selectors have changed.
type guarding struct {
	*budgetWatch
	// revision is that of the selectors for which own and of were found out. At first there is nothing.
	revision int
	own      map[types.UID]bool
	of       map[types.UID]selection
}

// selection are the budgets that guard a version of a pod, by name.
type selection struct {
	version string
	budgets []types.UID
}

// among returns the budgets that guard one of the pods, those of each pod, and whether they are all known. From now on wake is
// poked when one of them changes. All pods are of the namespace.
func (g *guarding) among(pods []*corev1.Pod, wake watchstore.Signal) (own []*budget, of map[types.UID][]*budget, known bool) {
	if g.isCurrent(pods) {
		if own, known, ok := g.Pick(g.own, g.revision); ok {
			return own, g.resolve(own), known
		}
	}
	g.concerns(wake, nil) // while it is found out, each change wakes
	all, revision, known := g.ListRevision()
	g.find(pods, all, revision)
	g.concerns(wake, g.own)
	own = slices.DeleteFunc(all, func(b *budget) bool { return !g.own[b.UID] })
	return own, g.resolve(own), known
}

func (g *guarding) isCurrent(pods []*corev1.Pod) bool {
	return len(pods) == len(g.of) && !slices.ContainsFunc(pods, func(pod *corev1.Pod) bool {
		s, known := g.of[pod.UID]
		return !known || s.version != pod.ResourceVersion
	})
}

// find finds out anew which budgets guard the pods that have changed; all of them, where selectors have.
func (g *guarding) find(pods []*corev1.Pod, all []*budget, revision int) {
	before := g.of
	if revision != g.revision {
		before = nil
	}
	g.revision, g.own, g.of = revision, map[types.UID]bool{}, make(map[types.UID]selection, len(pods))
	for _, pod := range pods {
		s, known := before[pod.UID]
		if !known || s.version != pod.ResourceVersion {
			s = selection{version: pod.ResourceVersion}
			for _, b := range guards(pod, all) {
				s.budgets = append(s.budgets, b.UID)
			}
		}
		g.of[pod.UID] = s
		for _, uid := range s.budgets {
			g.own[uid] = true
		}
	}
}

func (g *guarding) resolve(own []*budget) map[types.UID][]*budget {
	by := make(map[types.UID]*budget, len(own))
	for _, b := range own {
		by[b.UID] = b
	}
	of := make(map[types.UID][]*budget, len(g.of))
	for pod, s := range g.of {
		var budgets []*budget
		for _, uid := range s.budgets {
			if b := by[uid]; b != nil {
				budgets = append(budgets, b)
			}
		}
		of[pod] = budgets
	}
	return of
}
