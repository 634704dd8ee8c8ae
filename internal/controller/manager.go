// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"maps"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/central"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/loop"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/node/staticpod"
	"github.com/slipway-k8s/slipway/internal/platform/quota"
	"github.com/slipway-k8s/slipway/nodelease"
)

// newManager builds the caches, the clients and the leader election. The lease of a leader
// that has crashed expires after 15 s; a leader that ends normally releases it at once.
func (p *process) newManager(ctx context.Context, self *rest.Config) (manager.Manager, error) {
	m, err := ctrl.NewManager(self, manager.Options{
		Scheme:                        p.home.Scheme(),
		MapperProvider:                p.home.MapperProvider,
		Logger:                        log.FromContext(ctx),
		Cache:                         p.caches(),
		LeaderElection:                p.options.LeaderElect,
		LeaderElectionID:              central.Name,
		LeaderElectionNamespace:       p.options.Namespace,
		LeaderElectionReleaseOnCancel: true,
		Metrics:                       metricsserver.Options{BindAddress: p.options.MetricsAddress},
		HealthProbeBindAddress:        p.options.HealthAddress,
	})
	if err != nil {
		return nil, err
	}
	return m, central.Index(ctx, m.GetFieldIndexer())
}

// caches hold all events and maintenances, the transitions of several nodes, slim Nodes, the Jobs of maintenances and
// their PodTemplates, the Leases of nodes, and the agents' pods. They omit all other pods (a
// drain watches the pods of its node) and the heartbeats of kubelets (in another namespace).
func (p *process) caches() cache.Options {
	options := cache.Options{
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}:                      {Transform: slimNode},
			&lifecyclev1alpha1.LifecycleEvent{}: {Transform: p.slimEvent},
			// Transitions of one node are for its agent: the token of the node is enough to create any number of them.
			&lifecyclev1alpha1.LifecycleTransition{}: {Field: fields.OneTermEqualSelector(loop.TransitionNodeField, "")},
			&corev1.Pod{}: {
				Namespaces: map[string]cache.Config{p.options.Namespace: {}},
				Label:      labels.SelectorFromSet(oversight.AgentLabels()),
				Transform:  slimPod,
			},
		},
		DefaultTransform:         cache.TransformStripManagedFields(),
		DefaultWatchErrorHandler: p.watch.Failed,
		NewInformer:              quota.Informers(limits),
	}
	if p.options.MaintenanceJobs {
		namespace := maintenance.JobNamespace(p.options.Namespace)
		options.ByObject[&batchv1.Job{}] = cache.ByObject{ // one informer: in place of Namespaces, the selector restricts the watch to the namespace
			Field: fields.OneTermEqualSelector("metadata.namespace", namespace),
			Label: maintenance.Selector(),
		}
		options.ByObject[&corev1.PodTemplate{}] = cache.ByObject{Namespaces: map[string]cache.Config{namespace: {}}}
	}
	if p.options.NodeLeases {
		options.ByObject[&coordinationv1.Lease{}] = cache.ByObject{Namespaces: map[string]cache.Config{nodelease.Namespace: {}}}
	}
	return options
}

// maxEvents limits the events of one requester that the controller keeps, except those of maintenances and shutdowns.
const maxEvents = 1000

// limits returns the limit of a kind of which less trusted users may create any number of objects.
func limits(example runtime.Object) (quota.Limit, bool) {
	_, events := example.(*lifecyclev1alpha1.LifecycleEvent)
	return quota.Limit{Kind: "LifecycleEvent", Most: maxEvents, Group: lifecycleevent.Requester}, events
}

// maxParameters limits the parameters of events that the controller keeps, in bytes. Its own events may have more.
const maxParameters = 16 << 10

// slimEvent drops owners, the labels and annotations that are not Slipway's and, unless this process calls drivers, large parameters: these are for the agent of
// the node.
func (p *process) slimEvent(object any) (any, error) {
	event, ok := object.(*lifecyclev1alpha1.LifecycleEvent)
	if !ok {
		return object, nil
	}
	event.ManagedFields, event.OwnerReferences = nil, nil
	isForeign := func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		return domain != slipwayv1alpha1.GroupVersion.Group && !strings.HasSuffix(domain, "."+slipwayv1alpha1.GroupVersion.Group)
	}
	maps.DeleteFunc(event.Annotations, isForeign)
	maps.DeleteFunc(event.Labels, isForeign)
	if raw := event.Spec.Parameters; raw != nil && len(raw.Raw) > maxParameters && !p.options.centralDrivers() && !maintenance.Labelled(event) {
		event.Spec.Parameters = nil
	}
	return event, nil
}

// slimNode keeps the fields of a Node that decisions need, because the cache has all Nodes of
// the cluster. Writers of a Node read it from the API server.
func slimNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil
	}
	slim := &corev1.Node{TypeMeta: node.TypeMeta, ObjectMeta: slimMeta(node.ObjectMeta)}
	slim.Labels = node.Labels // transitions select by them
	for _, key := range []string{
		nodestate.CordonsAnnotation, nodestate.HomeAnnotation, nodestate.MaintenancesAnnotation, nodestate.LeaseAnnotation, nodestate.DriversAnnotation,
		slipwayv1alpha1.KeptAway, hold.UncordonedBy, hold.HeldBy, shutdown.Annotation, shutdown.DrainAnnotation, staticpod.Annotation,
	} {
		if value, has := node.Annotations[key]; has {
			metav1.SetMetaDataAnnotation(&slim.ObjectMeta, key, value)
		}
	}
	slim.Spec.Unschedulable, slim.Spec.Taints = node.Spec.Unschedulable, node.Spec.Taints
	slim.Status.Conditions = slimConditions(node.Status.Conditions)
	slim.Status.NodeInfo.BootID = node.Status.NodeInfo.BootID
	return slim, nil
}

// slimConditions limits the conditions of a Node, which daemons write.
func slimConditions(conditions []corev1.NodeCondition) []corev1.NodeCondition {
	const most, longest = 100, 2 << 10
	slim := slices.Clone(conditions[:min(most, len(conditions))])
	for i := range slim {
		slim[i].Message = strings.ToValidUTF8(slim[i].Message[:min(longest, len(slim[i].Message))], "")
	}
	return slim
}

// slimPod keeps the node of an agent's pod, its phase and its condition Ready.
func slimPod(object any) (any, error) {
	pod, ok := object.(*corev1.Pod)
	if !ok {
		return object, nil
	}
	slim := &corev1.Pod{TypeMeta: pod.TypeMeta, ObjectMeta: slimMeta(pod.ObjectMeta)}
	slim.Labels = pod.Labels
	slim.Spec.NodeName = pod.Spec.NodeName
	slim.Status.Phase = pod.Status.Phase
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			slim.Status.Conditions = []corev1.PodCondition{c}
		}
	}
	return slim, nil
}

func slimMeta(full metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name: full.Name, Namespace: full.Namespace, UID: full.UID, ResourceVersion: full.ResourceVersion,
		Generation: full.Generation, CreationTimestamp: full.CreationTimestamp, DeletionTimestamp: full.DeletionTimestamp,
	}
}
