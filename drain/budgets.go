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

// budgetWatches are the watches of the budgets of namespaces, each shared by the loops that have pods there.
type budgetWatches struct {
	client policyv1client.PolicyV1Interface
	queue  *budgetQueue
	watchstore.Shared[string, watchstore.Signal, *budgetWatch]
}

// budgetWatch watches the budgets of a namespace. Evictions change the status of one budget after the other, and each change
// would wake all loops that have pods there: a loop that names its budgets wakes for no other budget.
type budgetWatch struct {
	*watchstore.Store[*budget]

	mu sync.Mutex
	// users are the loops to wake, each with its budgets. Nil: all budgets.
	users map[watchstore.Signal]map[types.UID]bool
}

// join returns the budgets of a namespace for a loop, and wakes the loop with each change of its budgets until it leaves.
func (w *budgetWatches) join(ctx context.Context, namespace string, wake watchstore.Signal) *guarding {
	b, leave := w.Join(namespace, wake, func() (*budgetWatch, func()) {
		b := newBudgetWatch(w.queue)
		stop := b.Start(context.WithoutCancel(ctx), budgetSource(w.client, namespace)) // it may outlive the Drain that began it
		return b, func() {
			stop()
			w.queue.forget(namespace)
		}
	})
	b.concerns(wake, nil)
	return &guarding{budgetWatch: b, leave: func() {
		b.mu.Lock()
		delete(b.users, wake)
		b.mu.Unlock()
		leave()
	}}
}

func newBudgetWatch(q *budgetQueue) *budgetWatch {
	b := &budgetWatch{users: map[watchstore.Signal]map[types.UID]bool{}}
	b.Store = watchstore.New(watchstore.Options[*budget]{
		Convert: toBudget,
		Same:    func(before, after *budget) bool { return before.selects() == after.selects() },
		Changed: func(c watchstore.Change[*budget]) {
			b.observe(c, q)
			b.wake(c)
		},
	})
	return b
}

// observe shows a change to the queue before any user wakes.
func (b *budgetWatch) observe(c watchstore.Change[*budget], q *budgetQueue) {
	switch {
	case c.After != nil:
		q.observe(*c.After)
	case c.UID == "" && c.Differs:
		all, _ := b.List()
		for _, budget := range all {
			q.observe(budget)
		}
	}
}

// concerns makes changes of these budgets wake a user from now on, and changes of selectors. Nil: all changes. The caller looks
// at earlier changes itself.
func (b *budgetWatch) concerns(wake watchstore.Signal, these map[types.UID]bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.users[wake] = these
}

// wake wakes the users of a changed budget. If its selector differs, it wakes all users: it may guard other pods now.
func (b *budgetWatch) wake(c watchstore.Change[*budget]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for user, these := range b.users {
		if c.UID == "" || c.Differs || these == nil || these[c.UID] {
			user.Poke()
		}
	}
}

// guarding finds the budgets that guard the pods of a loop. A namespace may have many more budgets, which change all the time:
// the loop looks at its own only, and finds them again only if pods or selectors have changed.
type guarding struct {
	*budgetWatch
	leave func()
	// revision is the revision of the selectors for which own and of were found.
	revision int
	own      map[types.UID]bool
	of       map[types.UID]selection
}

// selection has the budgets that guard a version of a pod, by name.
type selection struct {
	version string
	budgets []types.UID
}

// among returns the budgets that guard one of the pods, and the budgets of each pod. known: they are complete. From now on their
// changes poke wake. All pods are of the namespace.
func (g *guarding) among(pods []*corev1.Pod, wake watchstore.Signal) (own []*budget, of map[types.UID][]*budget, known bool) {
	if g.isCurrent(pods) {
		if own, known, ok := g.Pick(g.own, g.revision); ok {
			return own, g.resolve(own), known
		}
	}
	g.concerns(wake, nil) // during the search, each change wakes
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

// find searches the budgets of the changed pods; if selectors have changed, the budgets of all pods.
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
