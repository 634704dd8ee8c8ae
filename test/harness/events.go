// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"context"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// keptFinalizer keeps an event that has ended until a test has seen how.
const keptFinalizer = "slipway.test/kept"

// Kept is a change of an event: the event stays until [Env.Outcome] has seen its end.
func Kept(e *lifecyclev1alpha1.LifecycleEvent) { e.Finalizers = append(e.Finalizers, keptFinalizer) }

// Outcome waits until a [Kept] event has ended and has no other finalizer, removes the finalizer, and
// returns the event.
func (e *Env) Outcome(t *testing.T, name string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := e.AwaitEvent(t, name, "has ended, with only the finalizer of the test", func(event *lifecyclev1alpha1.LifecycleEvent) bool {
		return event.Status.ClaimStatus.Terminal() && event.DeletionTimestamp != nil &&
			slices.Equal(event.Finalizers, []string{keptFinalizer})
	})
	e.StripFinalizers(t, event)
	e.AwaitEventGone(t, name)
	return event
}

// Finished returns the condition with the reason and the message of the event's end.
func Finished(event *lifecyclev1alpha1.LifecycleEvent) *metav1.Condition {
	return Condition(event, lifecyclev1alpha1.ConditionFinished)
}

// Condition returns a condition of the event, with only zero values if there is none.
func Condition(event *lifecyclev1alpha1.LifecycleEvent, conditionType string) *metav1.Condition {
	if c := apimeta.FindStatusCondition(event.Status.Conditions, conditionType); c != nil {
		return c
	}
	return &metav1.Condition{}
}

// StripFinalizers removes all finalizers of the event, as an administrator does by hand.
func (e *Env) StripFinalizers(t *testing.T, event *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	ctx := context.WithoutCancel(t.Context()) // also when a test ends
	if err := e.Client.Patch(ctx, event.DeepCopy(), patch); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
}

// Delete deletes an object.
func (e *Env) Delete(t *testing.T, object client.Object, how ...client.DeleteOption) {
	t.Helper()
	if err := e.Client.Delete(t.Context(), object, how...); err != nil {
		t.Fatal(err)
	}
}

// DeleteQuietly deletes an object if it is still there, as at the end of a test.
func (e *Env) DeleteQuietly(object client.Object) {
	// The cluster or the object may no longer exist.
	_ = e.Client.Delete(context.Background(), object, client.GracePeriodSeconds(0))
}

// Create creates an object that is deleted at the end of the test. For some seconds after an installation, the
// API server answers 503 (docs/install.md): Create repeats the request then.
func (e *Env) Create(t *testing.T, object client.Object) {
	t.Helper()
	unhurried := wait.Backoff{Duration: time.Second / 2, Steps: 60}
	err := retry.OnError(unhurried, apierrors.IsServiceUnavailable, func() error { return e.Client.Create(t.Context(), object) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.DeleteQuietly(object) })
}

// Guards puts the optional policies of guards on the cluster, and waits until new events get their gate.
func (e *Env) Guards(t *testing.T) {
	t.Helper()
	e.Kubectl(t, "apply", "--server-side", "-f", File(t, "config", "admission", "guards"))
	e.AwaitGate(t)
}

// AwaitGate waits until new events get a gate, which no watch shows.
func (e *Env) AwaitGate(t *testing.T) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		event := &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "gate-"},
			Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: "none", BindingNode: "none"},
		}
		err := e.Client.Create(ctx, event, client.DryRunAll)
		return err == nil && len(event.Spec.Gates) == 1, nil
	})
	if err != nil {
		t.Fatal("new events get no gate:", err)
	}
}
