// SPDX-License-Identifier: Apache-2.0

package apigroup

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/slipwayclient"
)

// Home is the API group that serves the two kinds.
type Home struct {
	group string
}

// In is the home in a group that is known already.
func In(group string) Home { return Home{group: group} }

// Find is [slipwayclient.FindGroup].
func Find(ctx context.Context, config *rest.Config, client *http.Client) (Home, error) {
	group, err := slipwayclient.FindGroup(ctx, config, client)
	return Home{group: group}, err
}

// Native reports whether the API server serves the kinds itself.
func (h Home) Native(ctx context.Context, config *rest.Config, httpClient *http.Client) (bool, error) {
	config = dynamic.ConfigFor(config)
	config.GroupVersion = new(h.GroupVersion())
	lister, err := rest.UnversionedRESTClientForConfigAndClient(config, httpClient)
	if err != nil {
		return false, fmt.Errorf("build a client: %w", err)
	}
	return IsNative(ctx, lister, h.GroupVersion().WithResource("lifecycletransitions"))
}

// IsNative reports whether the API server serves a resource itself. A CRD has no protobuf: for it, the server answers 406.
func IsNative(ctx context.Context, lister rest.Interface, resource schema.GroupVersionResource) (bool, error) {
	path := "/apis/" + resource.GroupVersion().String() + "/" + resource.Resource
	_, err := lister.Get().AbsPath(path).Param("limit", "1").SetHeader("Accept", runtime.ContentTypeProtobuf).DoRaw(ctx)
	if apierrors.IsNotAcceptable(err) {
		return false, nil
	}
	return err == nil, err
}

// Group is the API group.
func (h Home) Group() string { return h.group }

// GroupVersion is the API group and version.
func (h Home) GroupVersion() schema.GroupVersion {
	return schema.GroupVersion{Group: h.group, Version: lifecyclev1alpha1.Version}
}

// Scheme knows the two kinds in this home, Slipway's own, core/v1, Jobs and Leases.
func (h Home) Scheme() *runtime.Scheme {
	scheme := runtime.NewScheme()
	lifecyclev1alpha1.AddToScheme(scheme, h.group)
	for _, add := range []func(*runtime.Scheme) error{
		slipwayv1alpha1.AddToScheme, corev1.AddToScheme, batchv1.AddToScheme, coordinationv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			panic(err) // only two registrations of one kind can cause it
		}
	}
	return scheme
}

// MapperProvider provides [Home.Mapper] to controller-runtime.
func (h Home) MapperProvider(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return h.Mapper(), nil
}

// Mapper maps the kinds of [Home.Scheme] that Slipway reads and writes. It is
// static: it needs no discovery requests and no permissions for them.
func (h Home) Mapper() meta.RESTMapper {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{
		h.GroupVersion(), slipwayv1alpha1.GroupVersion, corev1.SchemeGroupVersion, batchv1.SchemeGroupVersion,
	})
	for _, kind := range []string{"LifecycleTransition", "LifecycleEvent"} {
		mapper.Add(h.GroupVersion().WithKind(kind), meta.RESTScopeRoot)
	}
	mapper.Add(slipwayv1alpha1.GroupVersion.WithKind("Freeze"), meta.RESTScopeRoot)
	mapper.Add(slipwayv1alpha1.GroupVersion.WithKind("NodeAvailabilityBudget"), meta.RESTScopeRoot)
	mapper.Add(slipwayv1alpha1.GroupVersion.WithKind("NodeHold"), meta.RESTScopeRoot)
	mapper.Add(slipwayv1alpha1.GroupVersion.WithKind("NodeMaintenance"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Event"), meta.RESTScopeNamespace)
	for _, kind := range []schema.GroupVersionKind{
		corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("PodTemplate"), batchv1.SchemeGroupVersion.WithKind("Job"),
		slipwayv1alpha1.GroupVersion.WithKind("DrainRule"), coordinationv1.SchemeGroupVersion.WithKind("Lease"),
	} {
		mapper.Add(kind, meta.RESTScopeNamespace)
		// A cache of one namespace needs the scope of the list, as a mapper by discovery knows it.
		mapper.Add(kind.GroupVersion().WithKind(kind.Kind+"List"), meta.RESTScopeNamespace)
	}
	return mapper
}

// Watch notices that the API has moved to another group while a process runs. It sends requests only after a watch has
// failed.
type Watch struct {
	config *rest.Config
	client *http.Client
	home   Home
	lost   atomic.Pointer[string]
}

// NewWatch returns the watch of a process that has found the API in the given home.
func NewWatch(config *rest.Config, client *http.Client, found Home) *Watch {
	return &Watch{config: config, client: client, home: found}
}

// Failed is called whenever a watch of the process ends with an error. A 404 can mean that the server no longer serves the
// group.
func (h *Watch) Failed(ctx context.Context, r *toolscache.Reflector, err error) {
	toolscache.DefaultWatchErrorHandler(ctx, r, err)
	if !apierrors.IsNotFound(err) {
		return
	}
	found, err := Find(ctx, h.config, h.client)
	switch {
	case err == nil && found == h.home:
		h.record(ctx, "")
	case err == nil:
		h.record(ctx, fmt.Sprintf("the API of LifecycleEvents has moved from %s to %s: restart this process to follow it",
			h.home.Group(), found.Group()))
	case errors.Is(err, slipwayclient.ErrNotInstalled):
		h.record(ctx, h.goneMessage())
	}
}

// record keeps a message for the readiness check, and logs a new one. An empty message means success.
func (h *Watch) record(ctx context.Context, message string) {
	if before := h.lost.Swap(&message); message != "" && (before == nil || *before != message) {
		klog.FromContext(ctx).Error(errors.New(message), "Not ready: the API of LifecycleEvents has moved")
	}
}

func (h *Watch) goneMessage() string {
	text := fmt.Sprintf("the API server no longer serves LifecycleEvents in %s", h.home.Group())
	if h.home.Group() == lifecyclev1alpha1.GroupKubernetes {
		text += ": either their CRD was deleted, or the server serves that group itself now (feature gate " +
			"EvictionRequestAPI): apply the CRDs of " + lifecyclev1alpha1.GroupSlipway + " and restart this process"
	}
	return text
}

// Check is a readiness check. /readyz/api-home serves its message.
func (h *Watch) Check() error {
	if message := h.lost.Load(); message != nil && *message != "" {
		return errors.New(*message)
	}
	return nil
}
