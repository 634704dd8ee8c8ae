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
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
)

// errStale means that an object has changed since the step was decided, or is gone.
var errStale = errors.New("the object has changed since")

// errGoing means that an object was deleted. The next step is decided when it is gone.
var errGoing = errors.New("the object is being deleted")

// perform does a step. From then on, what the server has answered counts.
func (c *Controller) perform(ctx context.Context, step evictionrequest.Step) error {
	api := c.clients.LifecycleV1alpha1()
	switch s := step.(type) {
	case evictionrequest.Create:
		created, err := api.Evictions(s.Eviction.Namespace).Create(ctx, s.Eviction, metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = errStale
		}
		return keep(c.evictions, "create Eviction", s.Eviction, created, err, faultpoint.EvictionCreated)
	case evictionrequest.Adopt:
		// With the resource version: a merge patch replaces lists as a whole.
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
			"resourceVersion": s.Eviction.ResourceVersion, "labels": s.Labels, "ownerReferences": s.Owners,
		}})
		if err != nil {
			return fmt.Errorf("encode labels and owners: %w", err)
		}
		adopted, err := api.Evictions(s.Eviction.Namespace).Patch(ctx, s.Eviction.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return keep(c.evictions, "write labels and owners of Eviction", s.Eviction, adopted, err, faultpoint.EvictionAdopted)
	case evictionrequest.WriteEviction:
		changed := s.Eviction.DeepCopy()
		changed.Status = s.Status
		written, err := api.Evictions(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		return keep(c.evictions, "write the status of Eviction", changed, written, err, faultpoint.EvictionWritten)
	case evictionrequest.WriteRequest:
		changed := s.Request.DeepCopy()
		changed.Status = s.Status
		written, err := api.EvictionRequests(changed.Namespace).UpdateStatus(ctx, changed, metav1.UpdateOptions{})
		return keep(c.requests, "write the status of EvictionRequest", changed, written, err, faultpoint.RequestWritten)
	case evictionrequest.Delete:
		err := api.Evictions(s.Eviction.Namespace).Delete(ctx, s.Eviction.Name,
			metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.Eviction.UID))})
		if err == nil {
			err = errGoing
		}
		return keep(c.evictions, "delete Eviction", s.Eviction, nil, err, "")
	default:
		return fmt.Errorf("%T is not a step to perform", step)
	}
}

// keep records what the server has answered to a write, or returns what went wrong.
func keep[T ownwrites.Object](in objects[T], verb string, seen, written T, err error, point string) error {
	switch {
	case err == nil:
		in.written.Keep(written)
		faultpoint.Reach(point)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		in.written.Forget(seen.GetUID())
		err = errStale
	}
	return fmt.Errorf("%s %s/%s: %w", verb, seen.GetNamespace(), seen.GetName(), err)
}
