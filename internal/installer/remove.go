// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/nodestate"
	"github.com/slipway-k8s/slipway/internal/release"
)

// Remove takes away what a survey has found, and tells what it does. While agents and
// controller run, they end what they have begun; events that nobody ends within patience lose
// the finalizers that the survey has shown. Then the workloads go, so that nobody writes
// any more; then our marks on nodes, and all the rest.
func (c *Cluster) Remove(ctx context.Context, left Remains, patience time.Duration, tell func(what string)) error {
	if err := c.endEvents(ctx, left.Events, patience, tell); err != nil {
		return err
	}
	var workloads, rest []*unstructured.Unstructured
	for _, o := range left.Objects {
		if isWorkload(o) {
			workloads = append(workloads, o)
		} else {
			rest = append(rest, o)
		}
	}
	if err := c.deleteAll(ctx, workloads, tell); err != nil {
		return err
	}
	for _, node := range left.Nodes {
		if node.Cordoned {
			tell("returning node " + node.Name)
		} else {
			tell("taking our annotations off node " + node.Name)
		}
		writer := nodestate.NewWriter(c.kube.CoreV1().Nodes(), node.Name, clock.RealClock{})
		if _, err := writer.Return(ctx); err != nil {
			return err
		}
		if err := writer.Forget(ctx); err != nil {
			return err
		}
	}
	return c.deleteAll(ctx, rest, tell)
}

// endEvents deletes all events, and waits until they are gone.
func (c *Cluster) endEvents(ctx context.Context, events []Event, patience time.Duration, tell func(string)) error {
	for _, e := range events {
		tell("deleting LifecycleEvent " + e.Name + " of node " + e.Node)
		if err := c.delete(ctx, e.object); err != nil {
			return err
		}
	}
	enough, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, e := range events {
		err := c.await(enough, e.object, gone)
		if err != nil && ctx.Err() == nil && enough.Err() != nil {
			err = c.abandon(ctx, e, tell)
		}
		if err != nil {
			return fmt.Errorf("wait until LifecycleEvent %s has ended: %w", e.Name, err)
		}
	}
	return nil
}

// abandon takes our finalizer off an event that nobody ends, and those of others that the
// survey has shown: who agreed to the removal has seen them.
func (c *Cluster) abandon(ctx context.Context, e Event, tell func(string)) error {
	live, err := c.get(ctx, e.object)
	if err != nil || live == nil {
		return err
	}
	if held := withoutOurs(live.GetFinalizers(), e.Holders); len(held) > 0 {
		return fmt.Errorf("it is held by %s since: let it go, and call this command again", strings.Join(held, ", "))
	}
	tell("nobody ends LifecycleEvent " + e.Name + ": taking off its finalizers")
	patch := fmt.Sprintf(`{"metadata":{"finalizers":null,"resourceVersion":%q}}`, live.GetResourceVersion())
	_, err = c.resource(live).Patch(ctx, e.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if apierrors.IsConflict(err) { // it has changed: look again
		return c.abandon(ctx, e, tell)
	}
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return c.await(ctx, live, gone)
}

// deleteAll deletes objects, each when the one before it is gone: a kind is gone with its
// CRD, and cannot be asked for any more.
func (c *Cluster) deleteAll(ctx context.Context, objects []*unstructured.Unstructured, tell func(string)) error {
	for _, o := range objects {
		tell("deleting " + release.RefOf(o).String())
		if err := c.delete(ctx, o); err != nil {
			return err
		}
		if err := c.await(ctx, o, gone); err != nil {
			return fmt.Errorf("wait until %s is gone: %w", release.RefOf(o), err)
		}
	}
	return nil
}

// delete deletes an object. Workloads wait for their pods: then nobody of ours writes any
// more. For the rest, nothing is left to the garbage collector, which may not write
// LifecycleTransitions. One that is gone is no error.
func (c *Cluster) delete(ctx context.Context, o *unstructured.Unstructured) error {
	policy := metav1.DeletePropagationBackground
	if isWorkload(o) {
		policy = metav1.DeletePropagationForeground
	}
	err := c.resource(o).Delete(ctx, o.GetName(), metav1.DeleteOptions{PropagationPolicy: &policy})
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("delete %s: %w", release.RefOf(o), err)
	}
	return nil
}

func isWorkload(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Deployment" || o.GetKind() == "DaemonSet"
}

func gone(o *unstructured.Unstructured) bool { return o == nil }
