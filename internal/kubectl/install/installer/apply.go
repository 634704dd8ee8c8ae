// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

// Apply applies the release, and tells of each object that was. force takes over what
// others have set.
func (c *Cluster) Apply(ctx context.Context, r release.Release, force bool, done func(*unstructured.Unstructured)) error {
	if err := c.applyAll(ctx, r.Objects, force, done); err != nil {
		return err
	}
	for _, o := range r.Objects {
		if o.GetKind() != "CustomResourceDefinition" {
			continue
		}
		if err := c.await(ctx, o, established); err != nil {
			return fmt.Errorf("wait until %s is served: %w", o.GetName(), err)
		}
	}
	return c.applyAll(ctx, r.Transitions, force, done)
}

// Delete deletes leftovers, which no workload of the release needs, and tells of each.
func (c *Cluster) Delete(ctx context.Context, leftovers []Item, tell func(what string)) error {
	for _, item := range leftovers {
		if err := c.deleteAll(ctx, []*unstructured.Unstructured{item.Object}, tell); err != nil {
			return err
		}
	}
	return nil
}

func (c *Cluster) applyAll(ctx context.Context, objects []*unstructured.Unstructured, force bool, done func(*unstructured.Unstructured)) error {
	for _, o := range objects {
		_, err := c.resource(o).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, Force: force})
		if err != nil {
			return fmt.Errorf("apply %s: %w; what came before it is applied, and the same command goes on", release.RefOf(o), err)
		}
		done(o)
	}
	return nil
}

// established says whether the server has taken a CRD in.
func established(o *unstructured.Unstructured) bool { return hasCondition(o, "Established") }

func hasCondition(o *unstructured.Unstructured, kind string) bool {
	if o == nil {
		return false
	}
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, c := range conditions {
		if c, ok := c.(map[string]any); ok && c["type"] == kind && c["status"] == "True" {
			return true
		}
	}
	return false
}

// AwaitReady returns when the pods of the release run, in the version of the release, and
// LifecycleEvents are accepted. It tells what it waits for.
func (c *Cluster) AwaitReady(ctx context.Context, r release.Release, group string, waiting func(what string)) error {
	for _, o := range r.Objects {
		var rolledOut func(*unstructured.Unstructured) bool
		switch o.GetKind() {
		case "Deployment":
			rolledOut = deploymentIsReady
		case "DaemonSet":
			rolledOut = daemonSetIsReady
		default:
			continue
		}
		what := "the pods of " + release.RefOf(o).String() + " to be ready"
		waiting(what)
		if err := c.await(ctx, o, rolledOut); err != nil {
			return fmt.Errorf("wait for %s: %w; 'kubectl get pods -n %s' says more", what, err, release.Namespace)
		}
	}
	waiting("events and maintenances to be accepted")
	if err := c.awaitAdmission(ctx, group, mutates(r)); err != nil {
		return err
	}
	return c.checkPolicies(ctx, r)
}

// mutates says whether the release has the policy that sets the requester of events.
func mutates(r release.Release) bool {
	return slices.ContainsFunc(r.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "MutatingAdmissionPolicy" })
}

func deploymentIsReady(o *unstructured.Unstructured) bool {
	var d appsv1.Deployment
	if o == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d) != nil {
		return false
	}
	want := int32(1)
	if d.Spec.Replicas != nil {
		want = *d.Spec.Replicas
	}
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedReplicas >= want && s.AvailableReplicas >= want && s.Replicas == s.UpdatedReplicas
}

func daemonSetIsReady(o *unstructured.Unstructured) bool {
	var d appsv1.DaemonSet
	if o == nil || runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &d) != nil {
		return false
	}
	s := d.Status
	return s.ObservedGeneration >= d.Generation && s.UpdatedNumberScheduled >= s.DesiredNumberScheduled && s.NumberAvailable >= s.DesiredNumberScheduled
}
