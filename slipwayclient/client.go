// SPDX-License-Identifier: Apache-2.0

package slipwayclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// ErrNotInstalled means that neither API group serves LifecycleEvents.
var ErrNotInstalled = errors.New("the API server serves LifecycleEvents neither in " +
	lifecyclev1alpha1.GroupKubernetes + " nor in " + lifecyclev1alpha1.GroupSlipway +
	": apply the CRDs of one of the two homes first")

// Client requests LifecycleEvents and follows them. Several goroutines may use it.
type Client struct {
	cluster client.WithWatch
}

// New returns a client of the cluster of a configuration. It finds the API group of LifecycleEvents
// there, and fails with [ErrNotInstalled] if there is none.
func New(ctx context.Context, config *rest.Config) (*Client, error) {
	httpClient, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	group, err := FindGroup(ctx, config, httpClient)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	lifecyclev1alpha1.AddToScheme(scheme, group)
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("register the kind Node: %w", err)
	}
	mapper := meta.NewDefaultRESTMapper(nil) // static: the caller needs no permission for discovery
	mapper.Add(schema.GroupVersionKind{Group: group, Version: lifecyclev1alpha1.Version, Kind: "LifecycleEvent"}, meta.RESTScopeRoot)
	mapper.Add(corev1.SchemeGroupVersion.WithKind("Node"), meta.RESTScopeRoot)
	cluster, err := client.NewWithWatch(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return For(cluster), nil
}

// For returns a client on top of another one, whose scheme has Nodes, and LifecycleEvents in the
// group that the server serves.
func For(cluster client.WithWatch) *Client { return &Client{cluster: cluster} }

// FindGroup asks the server in which API group it serves LifecycleEvents. It prefers
// lifecycle.k8s.io, and fails with [ErrNotInstalled] if there is none.
func FindGroup(ctx context.Context, config *rest.Config, httpClient *http.Client) (string, error) {
	lister, err := metadata.NewForConfigAndClient(metadata.ConfigFor(config), httpClient)
	if err != nil {
		return "", fmt.Errorf("build a client to find the API home: %w", err)
	}
	for _, group := range []string{lifecyclev1alpha1.GroupKubernetes, lifecyclev1alpha1.GroupSlipway} {
		resource := schema.GroupVersionResource{Group: group, Version: lifecyclev1alpha1.Version, Resource: "lifecycletransitions"}
		_, err := lister.Resource(resource).List(ctx, metav1.ListOptions{Limit: 1})
		switch {
		case err == nil:
			return group, nil
		case apierrors.IsNotFound(err):
			continue
		default:
			return "", fmt.Errorf("list lifecycletransitions.%s: %w", group, err)
		}
	}
	return "", ErrNotInstalled
}
