// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

// errStale means that an object has changed since the step was decided, or is gone.
var errStale = errors.New("the object has changed since")

// errGoing means that an object was deleted: what comes next is seen when it is gone.
var errGoing = errors.New("the object is being deleted")

// perform does a step. What the server answers counts from now on.
func (c *Controller) perform(ctx context.Context, step evictionrequest.Step) error {
	switch s := step.(type) {
	case evictionrequest.Create:
		return c.create(ctx, s)
	case evictionrequest.Adopt:
		return c.adopt(ctx, s)
	case evictionrequest.WriteEviction:
		return c.writeEviction(ctx, s)
	case evictionrequest.WriteRequest:
		return c.writeRequest(ctx, s)
	case evictionrequest.Delete:
		return c.delete(ctx, s)
	default:
		return fmt.Errorf("%T is no step that can be done", step)
	}
}

func (c *Controller) create(ctx context.Context, s evictionrequest.Create) error {
	created, err := c.clients.LifecycleV1alpha1().Evictions(s.Eviction.Namespace).Create(ctx, s.Eviction, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = errStale
	}
	return c.keep("create Eviction", s.Eviction, created, err, faultpoint.EvictionCreated)
}

func (c *Controller) adopt(ctx context.Context, s evictionrequest.Adopt) error {
	// With the resource version: lists are replaced as a whole.
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"resourceVersion": s.Eviction.ResourceVersion, "labels": s.Labels, "ownerReferences": s.Owners,
	}})
	if err != nil {
		return fmt.Errorf("encode labels and owners: %w", err)
	}
	adopted, err := c.clients.LifecycleV1alpha1().Evictions(s.Eviction.Namespace).
		Patch(ctx, s.Eviction.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	return c.keep("write labels and owners of Eviction", s.Eviction, adopted, err, faultpoint.EvictionAdopted)
}

func (c *Controller) writeEviction(ctx context.Context, s evictionrequest.WriteEviction) error {
	changed := s.Eviction.DeepCopy()
	changed.Status = s.Status
	written, err := c.clients.LifecycleV1alpha1().Evictions(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return c.keep("write the status of Eviction", changed, written, err, faultpoint.EvictionWritten)
}

func (c *Controller) writeRequest(ctx context.Context, s evictionrequest.WriteRequest) error {
	changed := s.Request.DeepCopy()
	changed.Status = s.Status
	written, err := c.clients.LifecycleV1alpha1().EvictionRequests(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
	return c.keep("write the status of EvictionRequest", changed, written, err, faultpoint.RequestWritten)
}

func (c *Controller) delete(ctx context.Context, s evictionrequest.Delete) error {
	err := c.clients.LifecycleV1alpha1().Evictions(s.Eviction.Namespace).Delete(ctx, s.Eviction.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.Eviction.UID))})
	if err == nil {
		err = errGoing
	}
	return c.keep("delete Eviction", s.Eviction, nil, err, "")
}

// keep remembers what was written, or says what went wrong.
func (c *Controller) keep(verb string, seen, written metav1.Object, err error, point string) error {
	switch {
	case err == nil:
		c.written.keep(written)
		faultpoint.Reach(point)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		c.written.forget(seen.GetUID())
		err = errStale
	}
	return fmt.Errorf("%s %s/%s: %w", verb, seen.GetNamespace(), seen.GetName(), err)
}
