// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// Remains is what of Slipway is on a cluster.
type Remains struct {
	// Objects of releases, in the order in which they go.
	Objects []*unstructured.Unstructured
	// Maintenances are all NodeMaintenances.
	Maintenances []Maintenance
	// Events are all LifecycleEvents.
	Events []Event
	// Nodes are those with something of ours on them.
	Nodes []Node
	// Foreign is what somebody else has, or may have, in Slipway's namespace, which therefore
	// stays.
	Foreign []string
	// Rules and Transitions are those of others, which go with their kinds.
	Rules, Transitions int
}

// Maintenance is a NodeMaintenance.
type Maintenance struct {
	Name string
	// InWork: it has begun, and is not completed.
	InWork bool
	// Holders are the finalizers of others on it.
	Holders []string

	object *unstructured.Unstructured
}

// Event is a LifecycleEvent.
type Event struct {
	Name, Node string
	// InWork: it has not ended.
	InWork bool
	// Holders are the finalizers of others on it.
	Holders []string

	object *unstructured.Unstructured
}

// Node is a node with something of ours on it.
type Node struct {
	Name string
	// Cordoned: by us. Others: somebody else has cordoned it as well, or before.
	Cordoned, Others bool
	// Away are the static pods that slipway-host has taken away there, as namespace/name.
	Away []string
}

// Survey finds what of Slipway is on the cluster: of everything, which any release may have
// put there.
func (c *Cluster) Survey(ctx context.Context, everything []*unstructured.Unstructured) (Remains, error) {
	var left Remains
	own := map[release.Ref]bool{}
	for _, o := range release.DeletionOrder(everything) {
		own[release.RefOf(o)] = true
		live, err := c.get(ctx, o)
		if err != nil {
			return left, err
		}
		if live == nil {
			continue
		}
		left.Objects = append(left.Objects, live)
	}
	records, err := c.helmRecords(ctx, left.Objects)
	if err != nil {
		return left, err
	}
	left.Objects, everything = slices.Insert(left.Objects, 0, records...), append(everything, records...)
	if err := c.spareNamespace(ctx, &left, everything); err != nil {
		return left, err
	}
	if err := c.surveyKinds(ctx, &left, own); err != nil {
		return left, err
	}
	return left, c.surveyNodes(ctx, &left)
}

// helmRecords returns the Secrets in which Helm records the releases of the objects. Without them, Helm does not know the
// releases any more.
func (c *Cluster) helmRecords(ctx context.Context, objects []*unstructured.Unstructured) (records []*unstructured.Unstructured, err error) {
	known := map[string]bool{}
	for _, o := range objects {
		name, namespace := release.HelmRelease(o)
		if name == "" || known[namespace+"/"+name] {
			continue
		}
		known[namespace+"/"+name] = true
		list, err := c.objects.Resource(corev1.SchemeGroupVersion.WithResource("secrets")).Namespace(namespace).List(ctx, metav1.ListOptions{
			LabelSelector: "owner=helm,name=" + name,
		})
		if err != nil {
			return nil, fmt.Errorf("list the records of Helm's release %s/%s: %w", namespace, name, err)
		}
		for i := range list.Items {
			records = append(records, &list.Items[i])
		}
	}
	return records, nil
}

// surveyKinds finds the objects of our kinds.
func (c *Cluster) surveyKinds(ctx context.Context, left *Remains, own map[release.Ref]bool) (err error) {
	if left.Maintenances, err = c.surveyMaintenances(ctx); err != nil {
		return err
	}
	if left.Events, err = c.surveyEvents(ctx); err != nil {
		return err
	}
	for _, group := range groups {
		version := schema.GroupVersion{Group: group, Version: lifecyclev1alpha1.Version}
		transitions, err := c.list(ctx, version.WithResource("lifecycletransitions"))
		if err != nil {
			return err
		}
		for _, o := range transitions {
			if !own[release.RefOf(&o)] {
				left.Transitions++
			}
		}
	}
	rules, err := c.list(ctx, slipwayv1alpha1.GroupVersion.WithResource("drainrules"))
	left.Rules = len(rules)
	return err
}

// groups are those in which events can be.
var groups = []string{lifecyclev1alpha1.GroupKubernetes, lifecyclev1alpha1.GroupSlipway}

func (c *Cluster) surveyEvents(ctx context.Context) (all []Event, err error) {
	for _, group := range groups {
		version := schema.GroupVersion{Group: group, Version: lifecyclev1alpha1.Version}
		events, err := c.list(ctx, version.WithResource("lifecycleevents"))
		if err != nil {
			return nil, err
		}
		for _, o := range events {
			event, err := eventOf(&o)
			if err != nil {
				return nil, err
			}
			all = append(all, event)
		}
	}
	return all, nil
}

func (c *Cluster) surveyMaintenances(ctx context.Context) (all []Maintenance, err error) {
	maintenances, err := c.list(ctx, slipwayv1alpha1.GroupVersion.WithResource("nodemaintenances"))
	if err != nil {
		return nil, err
	}
	for _, o := range maintenances {
		maintenance, err := maintenanceOf(&o)
		if err != nil {
			return nil, err
		}
		all = append(all, maintenance)
	}
	return all, nil
}

func maintenanceOf(o *unstructured.Unstructured) (Maintenance, error) {
	var m slipwayv1alpha1.NodeMaintenance
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &m); err != nil {
		return Maintenance{}, fmt.Errorf("read %s: %w", release.RefOf(o), err)
	}
	begun := slices.Contains(m.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	over := apimeta.IsStatusConditionTrue(m.Status.Conditions, slipwayv1alpha1.MaintenanceCompleted)
	return Maintenance{Name: m.Name, InWork: begun && !over, Holders: holders(m.Finalizers), object: o}, nil
}

func eventOf(o *unstructured.Unstructured) (Event, error) {
	var e lifecyclev1alpha1.LifecycleEvent
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &e); err != nil {
		return Event{}, fmt.Errorf("read %s: %w", release.RefOf(o), err)
	}
	return Event{Name: e.Name, Node: e.Spec.BindingNode, InWork: !e.Status.ClaimStatus.Terminal(), Holders: holders(e.Finalizers), object: o}, nil
}

// list lists a kind. One that is not served has no objects.
func (c *Cluster) list(ctx context.Context, kind schema.GroupVersionResource) ([]unstructured.Unstructured, error) {
	list, err := c.objects.Resource(kind).List(ctx, metav1.ListOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("list %s: %w", kind.GroupResource(), err)
	default:
		return list.Items, nil
	}
}

func (c *Cluster) surveyNodes(ctx context.Context, left *Remains) error {
	nodes, err := c.kube.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list nodes: %w", err)
	}
	for _, node := range nodes.Items {
		if !nodestate.Marked(&node) {
			continue
		}
		ours, others := nodestate.Cordons(&node)
		left.Nodes = append(left.Nodes, Node{Name: node.Name, Cordoned: len(ours) > 0, Others: others != nil, Away: awayOn(&node)})
	}
	return nil
}
