// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// ground is a namespace with errands, and what is watched there.
type ground struct {
	namespace string
	// joined is when the watches began, or were in trouble last.
	joined time.Time
	pods   *watchstore.Store[*corev1.Pod]
	shown  *budgetWatch
	stop   func()

	// version is that of the budgets at the last look; known: they were complete.
	version int
	known   bool
	budgets map[types.UID]*budget

	errands map[types.UID]*errand
	groups  map[types.UID]*group
	// hold is what keeps the namespace from being read, and since when it does.
	hold  *obstacle
	since time.Time
}

// open begins to watch a namespace.
func (l *errandLoop) open(ctx context.Context, namespace string) *ground {
	g := &ground{
		namespace: namespace, joined: l.d.config.Clock.Now(),
		version: -1, budgets: map[types.UID]*budget{}, errands: map[types.UID]*errand{}, groups: map[types.UID]*group{},
	}
	g.pods = watchstore.New(watchstore.Options[*corev1.Pod]{
		Convert: toSlimPod,
		Changed: func(c watchstore.Change[*corev1.Pod]) {
			if c.UID == "" && !c.Differs || l.inbox.touch(namespace, c.UID) {
				l.wake.poke()
			}
		},
	})
	endPods := g.pods.Start(ctx, podSource(l.d.config.Pods, namespace, ""))
	g.shown = l.d.budgets.join(ctx, namespace, l.wake)
	g.stop = func() {
		l.d.budgets.leave(namespace, l.wake)
		endPods()
	}
	return g
}

// close ends the watches of a namespace.
func (l *errandLoop) close(g *ground) {
	delete(l.grounds, g.namespace)
	for uid := range g.budgets {
		delete(l.opened, uid)
	}
	g.stop()
}

// look takes in what the watches show of budgets, and what they cannot read. It returns when to look again at the latest.
func (l *errandLoop) look(now time.Time) (wake time.Time) {
	for _, in := range l.grounds {
		changed, moved := in.news()
		if len(changed) > 0 {
			l.opened.saw(map[string][]*budget{in.namespace: changed}, now)
		}
		for _, b := range changed {
			if g := in.groups[b.UID]; g != nil {
				l.queue(g)
			}
		}
		hold, late := in.trouble(now)
		wake = earlier(wake, late)
		if news := in.heed(hold, now); news || moved {
			l.review(in, moved, now)
		}
	}
	return wake
}

// review tells the callers of a namespace what is new there. moved: which budget guards which pod may have changed.
func (l *errandLoop) review(in *ground, moved bool, now time.Time) {
	for _, e := range in.errands {
		if e.ended {
			continue
		}
		if moved && e.seen != nil {
			l.assign(e)
		}
		if again := l.tell(e, e.own, now); e.group != nil {
			l.alarms.set(e.group, again)
		}
	}
}

// news returns the budgets that have changed since the last look. moved: so may have which of them guards which pod.
func (g *ground) news() (changed []*budget, moved bool) {
	version := g.shown.Version()
	if version == g.version {
		return nil, false
	}
	list, known := g.shown.List()
	if !known {
		return nil, false
	}
	moved = !g.known
	now := make(map[types.UID]*budget, len(list))
	for _, b := range list {
		now[b.UID] = b
		before := g.budgets[b.UID]
		if before != nil && before.ResourceVersion == b.ResourceVersion {
			continue
		}
		changed = append(changed, b)
		moved = moved || before == nil || before.selects() != b.selects()
	}
	for uid := range g.budgets {
		moved = moved || now[uid] == nil
	}
	g.version, g.known, g.budgets = version, true, now
	return changed, moved
}

// guards are the budgets that an eviction of the pod would be up to. Nil also while they are not known.
func (g *ground) guards(pod *corev1.Pod) []*budget {
	if bypassesBudgets(pod) {
		return nil
	}
	all := make([]*budget, 0, len(g.budgets))
	for _, b := range g.budgets {
		all = append(all, b)
	}
	return guards(pod, all)
}

// trouble is what cannot be read now, and when what has not been read yet will belong to it.
func (g *ground) trouble(now time.Time) (hold *obstacle, late time.Time) {
	for _, read := range []struct {
		what  string
		known bool
		err   error
	}{
		{"pods of namespace ", g.pods.Synced(), g.pods.Err()},
		{"budgets of namespace ", g.shown.Synced(), g.shown.Err()},
	} {
		err, due := read.err, g.joined.Add(readLate)
		switch {
		case err != nil:
			g.joined = now // what can be read again takes a moment to be known
		case read.known:
			continue
		case now.Before(due):
			late = due
			continue
		default:
			err = errNotRead
		}
		o := unreadable(read.what+g.namespace, err)
		return &o, late
	}
	return nil, late
}

// heed keeps what cannot be read, and tells whether that is new.
func (g *ground) heed(hold *obstacle, now time.Time) bool {
	if g.hold == hold || g.hold != nil && hold != nil && *g.hold == *hold {
		return false
	}
	if g.hold == nil || hold == nil || g.hold.reason != hold.reason || g.hold.by != hold.by {
		g.since = now.Round(0)
	}
	g.hold = hold
	return true
}

// blocker is the namespace's, for one of its pods.
func (g *ground) blocker(pod types.NamespacedName) Blocker {
	if g.hold == nil {
		return Blocker{}
	}
	return Blocker{Pod: pod, Reason: g.hold.reason, By: g.hold.by, Message: g.hold.message, Since: g.since}
}
