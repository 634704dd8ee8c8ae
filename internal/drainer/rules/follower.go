// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// follower is one Follow.
type follower struct {
	reader    *Reader
	namespace string
	wake      signal
	rules     *ruleWatch
	labels    *labelWatch // nil while no rule selects by the labels of namespaces
}

// labelWatch is the watch of the labels of one namespace.
type labelWatch struct {
	*shelf[labels.Set]
	stop  context.CancelFunc
	ended chan struct{}
}

// look is what is to be said now; nil: that is not known yet.
func (f *follower) look(ctx context.Context) *saying {
	all, known, err := f.rules.list()
	if err != nil {
		return failed(err)
	}
	if !known {
		return nil
	}
	if !slices.ContainsFunc(all, (*rule).needsLabels) {
		f.endLabels()
		return pick(all, f.namespace, nil)
	}
	f.beginLabels(ctx)
	namespaces, known, err := f.labels.list()
	if err != nil {
		return failed(err)
	}
	if !known {
		return nil
	}
	var set labels.Set // a namespace that is gone has none
	if len(namespaces) > 0 {
		set = namespaces[0]
	}
	return pick(all, f.namespace, set)
}

func (f *follower) beginLabels(ctx context.Context) {
	if f.labels != nil {
		return
	}
	ctx, stop := context.WithCancel(ctx)
	w := &labelWatch{shelf: newShelf(toLabels, f.wake.poke), stop: stop, ended: make(chan struct{})}
	f.labels = w
	client := f.reader.namespaces
	only := onlyNamed(f.namespace)
	lw := &cache.ListWatch{
		ListWithContextFunc:  listing(client.List, only, w.heard),
		WatchFuncWithContext: watching(client.Watch, only, w.heard),
	}
	logger := klog.FromContext(ctx)
	go func() {
		defer close(w.ended)
		fill(ctx, logger, lw, &metav1.PartialObjectMetadata{}, w.shelf)
	}()
}

func (f *follower) endLabels() {
	if f.labels == nil {
		return
	}
	f.labels.stop()
	<-f.labels.ended
	f.labels = nil
}

func toLabels(obj any) labels.Set {
	if o, ok := obj.(metav1.Object); ok {
		return o.GetLabels()
	}
	return nil
}
