// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/klog/v2"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain/watchstore"
)

// ruleWatch is the watch of all DrainRules. It runs from its first to its last user.
type ruleWatch struct {
	*watchstore.Store[*rule]
	users map[watchstore.Signal]struct{} // guarded by Reader.mu
	stop  func()
	// absent: the server does not know DrainRules, and the watch has ended.
	absent atomic.Bool
}

// list returns all rules, whether they are complete, and the error of the last attempt to read.
func (w *ruleWatch) list() (rules []*rule, known bool, err error) {
	if w.absent.Load() {
		return nil, true, nil
	}
	rules, known = w.List()
	return rules, known, w.Err()
}

// join returns the watch, and pokes wake with each change until leave is called. A watch that found no DrainRules
// installed stays with its users; a new user begins another, which asks again.
func (r *Reader) join(ctx context.Context, wake watchstore.Signal) *ruleWatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watch == nil || r.watch.absent.Load() {
		r.watch = r.start(context.WithoutCancel(ctx)) // it may outlive the Follow that began it
	}
	r.watch.users[wake] = struct{}{}
	return r.watch
}

// leave ends the use of the watch. The last user waits for its end.
func (r *Reader) leave(w *ruleWatch, wake watchstore.Signal) {
	r.mu.Lock()
	delete(w.users, wake)
	last := len(w.users) == 0
	if last && r.watch == w {
		r.watch = nil
	}
	r.mu.Unlock()
	if last {
		w.stop()
	}
}

func (r *Reader) start(ctx context.Context) *ruleWatch {
	ctx, cancel := context.WithCancel(ctx)
	logger := klog.FromContext(ctx)
	w := &ruleWatch{users: map[watchstore.Signal]struct{}{}}
	w.Store = watchstore.New(watchstore.Options[*rule]{
		Convert: func(obj any) (*rule, bool) { return toRule(logger, obj, r.own), true },
		Changed: func(watchstore.Change[*rule]) { r.wakeAll(w) },
	})
	from := watchstore.From("drainrules", &slipwayv1alpha1.DrainRule{}, r.rules.List, r.rules.Watch)
	from.Heard = func(ctx context.Context, err error) {
		// Where something was read before, one server of several may not know the kind yet: what was read stays.
		if ctx.Err() == nil && apierrors.IsNotFound(err) && w.Len() == 0 {
			w.absent.Store(true)
			cancel() // there are no rules, and nothing to ask for again
			r.wakeAll(w)
			return
		}
		w.Heard(ctx, err)
	}
	stop := w.Start(ctx, from)
	w.stop = func() {
		cancel()
		stop()
	}
	return w
}

func (r *Reader) wakeAll(w *ruleWatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for user := range w.users {
		user.Poke()
	}
}
