// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/clock"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// Remove takes away what a survey has found, and tells what it does. While agents and
// controller run, they end what they have begun: the maintenances, which else would create
// events anew, then the events. Those that nobody ends within patience lose
// the finalizers that the survey has shown; static pods are put back. Then the workloads go, so
// that nobody writes any more; then our marks on nodes, and all the rest.
func (c *Cluster) Remove(ctx context.Context, left Remains, patience time.Duration, tell func(what string)) error {
	if err := c.endWork(ctx, left, patience, tell); err != nil {
		return err
	}
	lost, err := c.putBack(ctx, left.Nodes, patience, tell)
	if err != nil {
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
		writer := c.writer(node.Name)
		if _, err := writer.Return(ctx); err != nil {
			return err
		}
		forget := writer.Forget
		if lost[node.Name] {
			forget = writer.ForgetAllButStaticPods
		}
		if err := forget(ctx); err != nil {
			return err
		}
	}
	return c.deleteAll(ctx, rest, tell)
}

// writer is that of the given Node.
func (c *Cluster) writer(node string) *nodestate.Writer {
	return nodestate.NewWriter(c.kube.CoreV1().Nodes(), node, clock.RealClock{})
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
