// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

// FieldManager is who applies.
const FieldManager = "kubectl-slipway"

// Cluster is where something is installed.
type Cluster struct {
	config  *rest.Config
	http    *http.Client
	kube    kubernetes.Interface
	objects dynamic.Interface
}

// New is the cluster behind a client.
func New(config *rest.Config, client *http.Client) (*Cluster, error) {
	kube, err := kubernetes.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	objects, err := dynamic.NewForConfigAndClient(config, client)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return &Cluster{config: config, http: client, kube: kube, objects: objects}, nil
}

// Server is what the API server has for us.
func (c *Cluster) Server() (release.Server, error) {
	v, err := c.kube.Discovery().ServerVersion()
	if err != nil {
		return release.Server{}, fmt.Errorf("ask the API server for its version: %w", err)
	}
	return release.ServerOf(v.GitVersion)
}

// ownCategory is that of the CRDs of EvictionRequests in config/crd/evictions.
const ownCategory = "slipway"

// Group is the API group in which LifecycleEvents are to live. Where the server serves
// lifecycle.k8s.io itself, which it does with EvictionRequests in it, no CRD can. (Those of Slipway's own do
// not count.)
func (c *Cluster) Group() (string, error) {
	groups, err := c.kube.Discovery().ServerGroups()
	if err != nil {
		return "", fmt.Errorf("ask the API server for its API groups: %w", err)
	}
	for _, group := range groups.Groups {
		if group.Name != lifecyclev1alpha1.GroupKubernetes {
			continue
		}
		for _, v := range group.Versions {
			list, err := c.kube.Discovery().ServerResourcesForGroupVersion(v.GroupVersion)
			if err != nil {
				return "", fmt.Errorf("ask the API server what is in %s: %w", v.GroupVersion, err)
			}
			for _, resource := range list.APIResources {
				if resource.Kind == "EvictionRequest" && !slices.Contains(resource.Categories, ownCategory) {
					return lifecyclev1alpha1.GroupSlipway, nil
				}
			}
		}
	}
	return lifecyclev1alpha1.GroupKubernetes, nil
}

// KubernetesEvicts reports whether the server has a role for its own evictionrequest-controller: it creates the roles
// of the controllers that it expects.
func (c *Cluster) KubernetesEvicts(ctx context.Context) (bool, error) {
	const role = "system:controller:evictionrequest-controller"
	_, err := c.kube.RbacV1().ClusterRoles().Get(ctx, role, metav1.GetOptions{})
	if err == nil || apierrors.IsNotFound(err) {
		return err == nil, nil
	}
	return false, fmt.Errorf("read ClusterRole %s: %w", role, err)
}

// resource is where an object is served. The plural is guessed, and not looked up: what the
// server says of kinds lags behind CRDs, and all kinds of a release are regular.
func (c *Cluster) resource(o *unstructured.Unstructured) dynamic.ResourceInterface {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	if o.GetNamespace() == "" {
		return c.objects.Resource(plural)
	}
	return c.objects.Resource(plural).Namespace(o.GetNamespace())
}

// await watches one object until it is as it should be. It is asked with nil when there is
// none.
func (c *Cluster) await(ctx context.Context, o *unstructured.Unstructured, is func(*unstructured.Unstructured) bool) error {
	resource := c.resource(o)
	one := func(options metav1.ListOptions) metav1.ListOptions {
		options.FieldSelector = "metadata.name=" + o.GetName()
		return options
	}
	lister := &cache.ListWatch{
		ListWithContextFunc: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			return resource.List(ctx, one(options))
		},
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return resource.Watch(ctx, one(options))
		},
	}
	absent := func(store cache.Store) (bool, error) { return len(store.List()) == 0 && is(nil), nil }
	_, err := watchtools.UntilWithSync(ctx, cache.ToListWatcherWithWatchListSemantics(lister, c.objects), &unstructured.Unstructured{}, absent,
		func(e watch.Event) (bool, error) {
			if e.Type == watch.Deleted {
				return is(nil), nil
			}
			found, ok := e.Object.(*unstructured.Unstructured)
			return ok && is(found), nil
		})
	return err
}
