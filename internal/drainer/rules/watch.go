// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// ruleWatch is the watch of all DrainRules. It runs from its first to its last user.
type ruleWatch struct {
	*shelf[*rule]
	users map[signal]struct{} // guarded by Reader.mu
	stop  context.CancelFunc
	ended chan struct{}
}

// join returns the watch, and pokes wake with each change until leave is called. One that has found nothing to watch is
// left to those who have it.
func (r *Reader) join(ctx context.Context, wake signal) *ruleWatch {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.watch == nil || r.watch.isAbsent() {
		r.watch = r.start(context.WithoutCancel(ctx)) // it may outlive the Follow that began it
	}
	r.watch.users[wake] = struct{}{}
	return r.watch
}

// leave ends the use of the watch. The last user waits for its end.
func (r *Reader) leave(w *ruleWatch, wake signal) {
	r.mu.Lock()
	delete(w.users, wake)
	last := len(w.users) == 0
	if last && r.watch == w {
		r.watch = nil
	}
	r.mu.Unlock()
	if last {
		w.stop()
		<-w.ended
	}
}

func (r *Reader) start(ctx context.Context) *ruleWatch {
	ctx, stop := context.WithCancel(ctx)
	logger := klog.FromContext(ctx)
	w := &ruleWatch{users: map[signal]struct{}{}, stop: stop, ended: make(chan struct{})}
	w.shelf = newShelf(func(obj any) *rule { return toRule(logger, obj, r.own) }, func() { r.wakeAll(w) })
	// Where DrainRules are not installed, there are none, and there is nothing to ask for
	// again. Drains that begin later will see.
	heard := func(ctx context.Context, err error) {
		if w.heard(ctx, err); w.isAbsent() {
			stop()
		}
	}
	all := func(*metav1.ListOptions) {}
	lw := &cache.ListWatch{
		ListWithContextFunc:  listing(listRules(r.rules), all, heard),
		WatchFuncWithContext: watching(watchRules(r.rules), all, heard),
	}
	go func() {
		defer close(w.ended)
		fill(ctx, logger, lw, &slipwayv1alpha1.DrainRule{}, w.shelf)
	}()
	return w
}

func (r *Reader) wakeAll(w *ruleWatch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for user := range w.users {
		user.poke()
	}
}

const resource = "drainrules"

func listRules(c rest.Interface) func(context.Context, metav1.ListOptions) (*slipwayv1alpha1.DrainRuleList, error) {
	return func(ctx context.Context, options metav1.ListOptions) (*slipwayv1alpha1.DrainRuleList, error) {
		list := &slipwayv1alpha1.DrainRuleList{}
		err := c.Get().Resource(resource).VersionedParams(&options, metav1.ParameterCodec).Do(ctx).Into(list)
		if err != nil {
			return nil, fmt.Errorf("list DrainRules: %w", err)
		}
		return list, nil
	}
}

func watchRules(c rest.Interface) func(context.Context, metav1.ListOptions) (watch.Interface, error) {
	return func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
		options.Watch = true
		w, err := c.Get().Resource(resource).VersionedParams(&options, metav1.ParameterCodec).Watch(ctx)
		if err != nil {
			return nil, fmt.Errorf("watch DrainRules: %w", err)
		}
		return w, nil
	}
}
