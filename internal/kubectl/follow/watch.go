// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// Scope selects what is watched, in one watch for each kind. LifecycleEvents are watched
// unless it names EvictionsIn.
type Scope struct {
	// Event is the only LifecycleEvent. Empty: all.
	Event string
	// Node is the name of the only Node, whose pods are watched. Empty: all Nodes.
	Node string
	// Nodes and Pods are watched as well, if the caller may watch them.
	Nodes, Pods bool
	// Holds adds all NodeHolds, if the caller may watch them, and the server has the kind.
	Holds bool
	// Maintenances adds all NodeMaintenances.
	Maintenances bool
	// EvictionsIn is a namespace. The scope is then its EvictionRequests and Evictions alone.
	EvictionsIn string
}

// watched is one kind that is watched.
type watched struct {
	name   string // in messages
	object client.Object
	list   client.ObjectList
	field  string // selects objects, by value
	value  string
	in     string // namespace. Empty: all
	// optional points to a field of the scope, false if the caller cannot watch the kind.
	optional *bool
}

func (w watched) selector() fields.Selector {
	if w.value == "" {
		return fields.Everything()
	}
	return fields.OneTermEqualSelector(w.field, w.value)
}

// kinds returns the kinds of the scope. It points into the scope.
func (s *Scope) kinds() []watched {
	if s.EvictionsIn != "" {
		return []watched{
			{name: "EvictionRequests", object: &evictionv1alpha1.EvictionRequest{}, list: &evictionv1alpha1.EvictionRequestList{}, in: s.EvictionsIn},
			{name: "Evictions", object: &evictionv1alpha1.Eviction{}, list: &evictionv1alpha1.EvictionList{}, in: s.EvictionsIn},
		}
	}
	kinds := []watched{{
		name: "LifecycleEvents", object: &lifecyclev1alpha1.LifecycleEvent{}, list: &lifecyclev1alpha1.LifecycleEventList{},
		field: "metadata.name", value: s.Event,
	}}
	if s.Maintenances {
		kinds = append(kinds, watched{name: "NodeMaintenances", object: &slipwayv1alpha1.NodeMaintenance{}, list: &slipwayv1alpha1.NodeMaintenanceList{}})
	}
	if s.Nodes {
		kinds = append(kinds, watched{name: "Nodes", object: &corev1.Node{}, list: &corev1.NodeList{}, field: "metadata.name", value: s.Node, optional: &s.Nodes})
	}
	if s.Holds {
		kinds = append(kinds, watched{name: "NodeHolds", object: &slipwayv1alpha1.NodeHold{}, list: &slipwayv1alpha1.NodeHoldList{}, optional: &s.Holds})
	}
	if s.Pods {
		kinds = append(kinds, watched{name: "Pods", object: &corev1.Pod{}, list: &corev1.PodList{}, field: "spec.nodeName", value: s.Node, optional: &s.Pods})
	}
	return kinds
}

// watch fills the inbox with all existing objects, and continues until ctx ends. It returns the
// part of the scope that the caller may watch.
func (c Cluster) watch(ctx context.Context, scope Scope, box *inbox) (seen Scope, err error) {
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
	kinds := scope.kinds()
	options := cache.Options{
		Scheme: scheme, Mapper: mapper, ByObject: map[client.Object]cache.ByObject{},
		DefaultWatchErrorHandler: func(_ context.Context, _ *toolscache.Reflector, err error) {
			if !isRoutine(err) {
				box.lost(err)
			}
		},
	}
	for _, kind := range kinds {
		by := cache.ByObject{Field: kind.selector()}
		if kind.in != "" {
			by.Namespaces = map[string]cache.Config{kind.in: {}}
		}
		options.ByObject[kind.object] = by
	}
	all, err := cache.New(reporting(c.Config, box), options)
	if err != nil {
		return scope, err
	}
	go func() { _ = all.Start(ctx) }() // ends with ctx, and for no other reason
	return scope, fill(ctx, all, kinds, box)
}

// isRoutine reports whether a watch has ended as usual: the cache starts the next one.
func isRoutine(err error) bool {
	return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) || errors.Is(err, io.EOF)
}

// fill returns when all objects that exist are in the inbox.
func fill(ctx context.Context, all cache.Cache, kinds []watched, box *inbox) error {
	var synced []toolscache.InformerSynced
	for _, kind := range kinds {
		informer, err := all.GetInformer(ctx, kind.object, cache.BlockUntilSynced(false))
		if err != nil {
			return err
		}
		registration, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
			AddFunc:    func(object any) { pass(object, box.saw) },
			UpdateFunc: func(_, object any) { pass(object, box.saw) },
			DeleteFunc: func(object any) { pass(object, box.gone) },
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

func pass(object any, to func(client.Object)) {
	if missed, ok := object.(toolscache.DeletedFinalStateUnknown); ok {
		object = missed.Obj
	}
	if o, ok := object.(client.Object); ok {
		to(o)
	}
}

// Kinds returns the scheme and mapper of all kinds that kubectl slipway reads or watches. They are
// static, so the caller needs no permission for discovery.
func Kinds(h apigroup.Home) (*runtime.Scheme, meta.RESTMapper, error) {
	scheme := h.Scheme()
	for _, add := range []func(*runtime.Scheme) error{
		evictionv1alpha1.AddToScheme, policyv1.AddToScheme, storagev1.AddToScheme, rbacv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, nil, fmt.Errorf("register the kinds of kubectl slipway: %w", err)
		}
	}
	more := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []schema.GroupVersionKind{
		evictionv1alpha1.SchemeGroupVersion.WithKind("EvictionRequest"), evictionv1alpha1.SchemeGroupVersion.WithKind("EvictionRequestList"),
		evictionv1alpha1.SchemeGroupVersion.WithKind("Eviction"), evictionv1alpha1.SchemeGroupVersion.WithKind("EvictionList"),
		corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"),
	} {
		more.Add(kind, meta.RESTScopeNamespace)
	}
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Namespace"), corev1.SchemeGroupVersion.WithKind("PersistentVolume"),
		storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"),
	} {
		more.Add(kind, meta.RESTScopeRoot)
	}
	return scheme, meta.FirstHitRESTMapper{MultiRESTMapper: meta.MultiRESTMapper{h.Mapper(), more}}, nil
}

// readable returns the part of the scope that the caller may list and watch. An error names
// the permission that is missing for a kind that is not optional.
func readable(ctx context.Context, reader client.WithWatch, group string, scope Scope) (Scope, error) {
	for _, kind := range scope.kinds() {
		err := probe(ctx, reader, kind)
		var unwatched *unwatchedError
		switch _, events := kind.object.(*lifecyclev1alpha1.LifecycleEvent); {
		case err == nil:
		case kind.optional != nil && (apierrors.IsForbidden(err) || apierrors.IsNotFound(err)):
			*kind.optional = false
		case events && errors.As(err, &unwatched):
			return scope, fmt.Errorf("you may list LifecycleEvents and not watch them: the verb watch on lifecycleevents.%s is missing, which the role slipway-operator has: %w", group, err)
		default:
			return scope, fmt.Errorf("read %s: %w", kind.name, err)
		}
	}
	return scope, nil
}

// unwatchedError: the caller may list a kind, and not watch it.
type unwatchedError struct{ error }

func (e *unwatchedError) Unwrap() error { return e.error }

// probe lists a kind and starts to watch it, to check the permissions: a running watch cannot
// distinguish a refusal from a server that does not answer.
func probe(ctx context.Context, reader client.WithWatch, kind watched) error {
	options := client.ListOptions{FieldSelector: kind.selector(), Namespace: kind.in, Limit: 1}
	if err := reader.List(ctx, kind.list, &options); err != nil {
		return err
	}
	options.Limit, options.Raw = 0, &metav1.ListOptions{ResourceVersion: kind.list.GetResourceVersion()}
	watcher, err := reader.Watch(ctx, kind.list, &options)
	if apierrors.IsForbidden(err) {
		return &unwatchedError{err}
	}
	if err != nil {
		return err
	}
	watcher.Stop()
	return nil
}

// answers reports to the inbox whether the server answers: a watch does not report failed
// connections.
type answers struct {
	http.RoundTripper
	box *inbox
}

// RoundTrip sends the request.
func (a answers) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := a.RoundTripper.RoundTrip(request)
	switch {
	case err != nil && request.Context().Err() == nil:
		a.box.lost(err)
	case err == nil && response.StatusCode < http.StatusInternalServerError && !refuses(response.StatusCode):
		a.box.found()
	}
	return response, err
}

// refuses reports whether the server denies the request: an administrator may withdraw permissions
// during a watch.
func refuses(code int) bool { return code == http.StatusUnauthorized || code == http.StatusForbidden }

// reporting returns a configuration whose requests tell the inbox whether they are answered.
func reporting(config *rest.Config, box *inbox) *rest.Config {
	own := rest.CopyConfig(config)
	own.Wrap(func(transport http.RoundTripper) http.RoundTripper { return answers{transport, box} })
	return own
}
