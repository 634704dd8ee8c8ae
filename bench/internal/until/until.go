// SPDX-License-Identifier: Apache-2.0

// Package until waits for objects of a cluster to be as a benchmark wants them, by a watch.
package until

import (
	"context"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"
)

// Done shows done the objects of a namespace, or of all if it is empty, those that are
// there first, and returns when done says so. Objects that go are not shown.
func Done[T runtime.Object](ctx context.Context, client rest.Interface, resource, namespace string, example T, done func(T) bool) error {
	lister := cache.NewListWatchFromClient(client, resource, namespace, fields.Everything())
	_, err := watchtools.UntilWithSync(ctx, lister, example, nil, func(e watch.Event) (bool, error) {
		object, ok := e.Object.(T)
		return ok && e.Type != watch.Deleted && done(object), nil
	})
	return err
}
