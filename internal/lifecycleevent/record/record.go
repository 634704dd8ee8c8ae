// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// ErrStale means that the object has changed since the step was decided, or no longer exists.
var ErrStale = errors.New("the object has changed since")

// Recorder writes events, the holds of events, and the status of NodeAvailabilityBudgets.
type Recorder struct {
	client client.Client
}

// New returns a recorder that writes with the given client.
func New(client client.Client) *Recorder { return &Recorder{client: client} }

// Create creates an event. It returns the event as the API server has it. If there is one
// of its name, the error is the API server's.
func (r *Recorder) Create(ctx context.Context, event *lifecyclev1alpha1.LifecycleEvent) (created *lifecyclev1alpha1.LifecycleEvent, err error) {
	created = event.DeepCopy()
	return created, wrap("create", event, r.client.Create(ctx, created))
}

// Change replaces an event by changed, except for its status. It returns the event as stored by the API server.
func (r *Recorder) Change(ctx context.Context, seen, changed *lifecyclev1alpha1.LifecycleEvent) (after *lifecyclev1alpha1.LifecycleEvent, err error) {
	after = changed.DeepCopy()
	return after, wrap("change", seen, r.patch(ctx, after, seen))
}

// WriteStatus replaces the status of the event as it was seen. It returns the resource
// version that the event has then.
func (r *Recorder) WriteStatus(ctx context.Context, seen *lifecyclev1alpha1.LifecycleEvent, status lifecyclev1alpha1.LifecycleEventStatus) (version string, err error) {
	changed := seen.DeepCopy()
	changed.Status = status
	err = wrap("write the status of", seen, r.client.Status().Update(ctx, changed))
	return changed.ResourceVersion, err
}

// WriteBudgetStatus replaces the status of the budget as it was seen.
func (r *Recorder) WriteBudgetStatus(ctx context.Context, seen *slipwayv1alpha1.NodeAvailabilityBudget, status slipwayv1alpha1.NodeAvailabilityBudgetStatus) error {
	changed := seen.DeepCopy()
	changed.Status = status
	return wrap("write the status of", seen, r.client.Status().Update(ctx, changed))
}

// Protect sets a finalizer.
func (r *Recorder) Protect(ctx context.Context, seen *lifecyclev1alpha1.LifecycleEvent, finalizer string) error {
	changed := seen.DeepCopy()
	controllerutil.AddFinalizer(changed, finalizer)
	return wrap("set the finalizer of", seen, r.patch(ctx, changed, seen))
}

// Unprotect removes a finalizer.
func (r *Recorder) Unprotect(ctx context.Context, seen *lifecyclev1alpha1.LifecycleEvent, finalizer string) error {
	changed := seen.DeepCopy()
	controllerutil.RemoveFinalizer(changed, finalizer)
	return wrap("remove the finalizer of", seen, r.patch(ctx, changed, seen))
}

// RemoveGate removes a gate, and sets finalizers in the same write.
func (r *Recorder) RemoveGate(ctx context.Context, seen *lifecyclev1alpha1.LifecycleEvent, name string, finalizers ...string) error {
	changed := seen.DeepCopy()
	changed.Spec.Gates = slices.DeleteFunc(changed.Spec.Gates, func(g lifecyclev1alpha1.Gate) bool { return g.Name == name })
	for _, finalizer := range finalizers {
		controllerutil.AddFinalizer(changed, finalizer)
	}
	return wrap("remove gate "+name+" of", seen, r.patch(ctx, changed, seen))
}

// CreateHold creates the hold of an event.
func (r *Recorder) CreateHold(ctx context.Context, hold *slipwayv1alpha1.NodeHold) error {
	return wrap("create", hold, r.client.Create(ctx, hold.DeepCopy()))
}

// DeleteHold deletes a hold.
func (r *Recorder) DeleteHold(ctx context.Context, seen *slipwayv1alpha1.NodeHold) error {
	return wrap("delete", seen, r.client.Delete(ctx, seen.DeepCopy(), asSeen(seen)))
}

// MarkOverdue sets or removes the label of a hold that is overdue.
func (r *Recorder) MarkOverdue(ctx context.Context, seen *slipwayv1alpha1.NodeHold, overdue bool) error {
	changed := seen.DeepCopy()
	delete(changed.Labels, slipwayv1alpha1.OverdueLabel)
	if overdue {
		metav1.SetMetaDataLabel(&changed.ObjectMeta, slipwayv1alpha1.OverdueLabel, "true")
	}
	return wrap("mark", seen, r.client.Patch(ctx, changed, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{})))
}

// patch writes the difference. Finalizers and gates are lists, which a merge patch
// replaces as a whole: without the resource version, entries of other writers could be lost.
func (r *Recorder) patch(ctx context.Context, changed, seen *lifecyclev1alpha1.LifecycleEvent) error {
	return r.client.Patch(ctx, changed, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{}))
}

// Delete deletes the event.
func (r *Recorder) Delete(ctx context.Context, seen *lifecyclev1alpha1.LifecycleEvent) error {
	return wrap("delete", seen, r.client.Delete(ctx, seen.DeepCopy(), asSeen(seen)))
}

// DeleteTransition deletes a transition.
func (r *Recorder) DeleteTransition(ctx context.Context, seen *lifecyclev1alpha1.LifecycleTransition) error {
	return wrap("delete", seen, r.client.Delete(ctx, seen.DeepCopy(), asSeen(seen)))
}

// Annotate sets an annotation of a transition; an empty value removes it.
func (r *Recorder) Annotate(ctx context.Context, seen *lifecyclev1alpha1.LifecycleTransition, key, value string) error {
	changed := seen.DeepCopy()
	delete(changed.Annotations, key)
	if value != "" {
		metav1.SetMetaDataAnnotation(&changed.ObjectMeta, key, value)
	}
	err := r.client.Patch(ctx, changed, client.MergeFromWithOptions(seen, client.MergeFromWithOptimisticLock{}))
	return wrap("annotate", seen, err)
}

func asSeen(object client.Object) client.Preconditions {
	return client.Preconditions{UID: new(object.GetUID()), ResourceVersion: new(object.GetResourceVersion())}
}

func wrap(verb string, object client.Object, err error) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		return fmt.Errorf("%s %T %s: %w", verb, object, object.GetName(), ErrStale)
	default:
		return fmt.Errorf("%s %T %s: %w", verb, object, object.GetName(), err)
	}
}
