// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"net/http"

	"github.com/slipway-k8s/slipway/internal/lifecycleevent"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/nodelease"
)

const (
	// podNode is the field by which pods belong to a node, at the API server as well.
	podNode = "spec.nodeName"
	// guarded is the index of the events that wait for the guards.
	guarded = "guarded"
)

// newManager builds the caches, the clients and the leader election. The lease is kept
// for 15 s; a leader that ends as it should gives it up at once.
func (p *process) newManager(ctx context.Context, self *rest.Config) (manager.Manager, error) {
	m, err := ctrl.NewManager(self, manager.Options{
		Scheme:                        p.home.Scheme(),
		MapperProvider:                p.mapper,
		Logger:                        log.FromContext(ctx),
		Cache:                         p.caches(),
		LeaderElection:                p.options.LeaderElect,
		LeaderElectionID:              Name,
		LeaderElectionNamespace:       p.options.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: p.options.MetricsAddress},
		HealthProbeBindAddress:        p.options.HealthAddress,
	})
	if err != nil {
		return nil, err
	}
	index := m.GetFieldIndexer()
	return m, errors.Join(
		index.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, lifecycleevent.BindingNodeField, eventsNode),
		index.IndexField(ctx, &lifecyclev1alpha1.LifecycleEvent{}, guarded, whetherGuarded),
		index.IndexField(ctx, &corev1.Pod{}, podNode, podsNode),
	)
}

func eventsNode(o client.Object) []string {
	return []string{o.(*lifecyclev1alpha1.LifecycleEvent).Spec.BindingNode}
}

func whetherGuarded(o client.Object) []string {
	if oversight.Guarded(o.(*lifecyclev1alpha1.LifecycleEvent)) {
		return []string{"true"}
	}
	return nil
}

func podsNode(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }

// caches hold all events, transitions and maintenances, what is needed of all Nodes, and of pods
// those of the agents alone: others are watched by a drain, while it goes on. Jobs and
// PodTemplates are those of Slipway's namespace, and Leases those of nodes: heartbeats of
// kubelets are in another namespace.
func (p *process) caches() cache.Options {
	options := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Transform: slimNode},
			&batchv1.Job{}: {
				Namespaces: map[string]cache.Config{p.options.Namespace: {}},
				Label:      maintenance.Selector(),
			},
			&corev1.PodTemplate{}: {Namespaces: map[string]cache.Config{p.options.Namespace: {}}},
			&corev1.Pod{}: {
				Namespaces: map[string]cache.Config{p.options.Namespace: {}},
				Label:      labels.SelectorFromSet(oversight.AgentLabels()),
				Transform:  slimPod,
			},
		},
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: p.watch.Failed,
	}
	if p.options.NodeLeases {
		options.ByObject[&coordinationv1.Lease{}] = cache.ByObject{Namespaces: map[string]cache.Config{nodelease.Namespace: {}}}
	}
	return options
}

// mapper is the home's, which asks nothing of the server.
func (p *process) mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	return p.home.Mapper(), nil
}
