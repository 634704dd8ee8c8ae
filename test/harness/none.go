// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// AwaitNoneThat waits until none of the listed objects is as it must not be.
func (e *Env) AwaitNoneThat(t *testing.T, list client.ObjectList, unwanted func(client.Object) bool, options ...client.ListOption) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	present := map[string]bool{}
	look := func(o client.Object, gone bool) {
		key := o.GetNamespace() + "/" + o.GetName()
		if gone || !unwanted(o) {
			delete(present, key)
		} else {
			present[key] = true
		}
	}
	_, err := watchtools.UntilWithSync(ctx, lister(e, list, options), nil, func(store cache.Store) (bool, error) {
		for _, object := range store.List() {
			look(object.(client.Object), false)
		}
		return len(present) == 0, nil
	}, func(event watch.Event) (bool, error) {
		if o, ok := event.Object.(client.Object); ok {
			look(o, event.Type == watch.Deleted)
		}
		return len(present) == 0, nil
	})
	if err != nil {
		t.Fatalf("waiting until none of %T is as it must not be: %v; there are %v", list, err, present)
	}
}
