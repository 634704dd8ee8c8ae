// SPDX-License-Identifier: Apache-2.0

package central

import (
	"context"
	"fmt"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

// Freezes deletes each Freeze at its end: the other processes then need no clock for it.
type Freezes struct {
	Client client.Client
	Clock  clock.PassiveClock
}

// FreezeSources wake Freezes.
func FreezeSources(from cache.Cache) []source.TypedSource[string] {
	name := func(_ context.Context, f *freeze.Freeze) []string { return []string{f.Name} }
	return []source.TypedSource[string]{source.TypedKind(from, &freeze.Freeze{}, loop.NodesOf(name))}
}

// Reconcile deletes the Freeze of that name, if its end has come.
func (f *Freezes) Reconcile(ctx context.Context, name string) (reconcile.Result, error) {
	var is freeze.Freeze
	if err := f.Client.Get(ctx, client.ObjectKey{Name: name}, &is); err != nil || is.Spec.Until == nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if left := is.Spec.Until.Sub(f.Clock.Now()); left > 0 {
		return reconcile.Result{RequeueAfter: left}, nil
	}
	log.FromContext(ctx).Info("Deleting a Freeze at its end", "freeze", name)
	unchanged := client.Preconditions{UID: &is.UID, ResourceVersion: &is.ResourceVersion} // spec.until may be later now
	if err := client.IgnoreNotFound(f.Client.Delete(ctx, &is, unchanged)); err != nil {
		return loop.AfterStep(ctx, name, fmt.Errorf("delete Freeze %s: %w", name, err))
	}
	return reconcile.Result{}, nil
}

// freezes returns all Freezes.
func freezes(ctx context.Context, from client.Reader) ([]*freeze.Freeze, error) {
	var list slipwayv1alpha1.FreezeList
	if err := from.List(ctx, &list); err != nil {
		return nil, fmt.Errorf("list the Freezes: %w", err)
	}
	all := make([]*freeze.Freeze, len(list.Items))
	for i := range list.Items {
		all[i] = &list.Items[i]
	}
	return all, nil
}
