// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// Cluster is where something is watched.
type Cluster struct {
	Config *rest.Config
	HTTP   *http.Client
	Home   apigroup.Home
}

// Scope is what is watched, in one watch for each kind. LifecycleEvents always are.
type Scope struct {
	// Event is the only event. Empty: all.
	Event string
	// Node is the only Node, and that of the pods. Empty: all Nodes.
	Node string
	// Nodes and Pods are watched as well, where the caller may.
	Nodes, Pods bool
	// Maintenances are watched as well: all NodeMaintenances.
	Maintenances bool
}

// Eyes take in what a watch shows. They may be called at the same time.
type Eyes interface {
	Saw(object client.Object)
	Gone(object client.Object)
	// Lost says that nothing can be seen for now, Found that something can again.
	Lost(why error)
	Found()
}

// Watch returns when the eyes have seen all that is there, and goes on until ctx ends. It
// says which of the kinds that are not needed may not be read.
func (c Cluster) Watch(ctx context.Context, scope Scope, eyes Eyes) (seen Scope, err error) {
	scheme, mapper, err := Kinds(c.Home)
	if err != nil {
		return scope, err
	}
	reader, err := client.NewWithWatch(c.Config, client.Options{HTTPClient: c.HTTP, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return scope, fmt.Errorf("build a client: %w", err)
	}
	if scope, err = readable(ctx, reader, c.Home.Group(), scope); err != nil {
		return scope, err
	}
	watched, err := cache.New(listening(c.Config, eyes), cache.Options{
		Scheme: scheme, Mapper: mapper, ByObject: scope.selectors(),
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			if !isRoutine(err) {
				eyes.Lost(err)
			}
		},
	})
	if err != nil {
		return scope, err
	}
	go func() { _ = watched.Start(ctx) }() // ends with ctx, and for no other reason
	return scope, feed(ctx, watched, scope.kinds(), eyes)
}

// isRoutine says that a watch has ended as watches do: it begins anew by itself.
func isRoutine(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF)
}

func (s Scope) selectors() map[client.Object]cache.ByObject {
	selectors := map[client.Object]cache.ByObject{}
	if s.Event != "" {
		selectors[&lifecyclev1alpha1.LifecycleEvent{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", s.Event)}
	}
	if s.Node != "" {
		selectors[&corev1.Node{}] = cache.ByObject{Field: fields.OneTermEqualSelector("metadata.name", s.Node)}
		selectors[&corev1.Pod{}] = cache.ByObject{Field: fields.OneTermEqualSelector("spec.nodeName", s.Node)}
	}
	return selectors
}

func (s Scope) kinds() []client.Object {
	kinds := []client.Object{&lifecyclev1alpha1.LifecycleEvent{}}
	if s.Nodes {
		kinds = append(kinds, &corev1.Node{})
	}
	if s.Pods {
		kinds = append(kinds, &corev1.Pod{})
	}
	if s.Maintenances {
		kinds = append(kinds, &slipwayv1alpha1.NodeMaintenance{})
	}
	return kinds
}

// feed returns when the eyes have seen all of the kinds that is there.
func feed(ctx context.Context, watched cache.Cache, kinds []client.Object, eyes Eyes) error {
	var synced []toolscache.InformerSynced
	for _, kind := range kinds {
		informer, err := watched.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { saw(eyes, object) },
			UpdateFunc: func(_, object any) { saw(eyes, object) },
			DeleteFunc: func(object any) { gone(eyes, object) },
		})
		if err != nil {
			return err
		}
		synced = append(synced, registration.HasSynced)
	}
	if !toolscache.WaitForCacheSync(ctx.Done(), synced...) {
		return ctx.Err()
	}
	return nil
}

func saw(eyes Eyes, object any) {
	if o, ok := object.(client.Object); ok {
		eyes.Saw(o)
	}
}

func gone(eyes Eyes, object any) {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	if o, ok := object.(client.Object); ok {
		eyes.Gone(o)
	}
}
