// SPDX-License-Identifier: Apache-2.0

package record

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// stage is an API with one event, e, in it, that has somebody else's finalizer.
func stage(t *testing.T, funcs interceptor.Funcs) (*Recorder, client.Client, *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: "e", UID: "u", Finalizers: []string{"example.com/other"}},
		Status:     lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Pending},
	}
	c := fake.NewClientBuilder().WithScheme(apigroup.In(lifecyclev1alpha1.GroupSlipway).Scheme()).
		WithObjects(event).WithStatusSubresource(event).WithInterceptorFuncs(funcs).Build()
	return New(c), c, get(t, c)
}

func get(t *testing.T, c client.Client) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	var event lifecyclev1alpha1.LifecycleEvent
	if err := c.Get(t.Context(), client.ObjectKey{Name: "e"}, &event); err != nil {
		t.Fatal(err)
	}
	return &event
}

// writes are all that can be written to an event.
var writes = map[string]func(context.Context, *Recorder, *lifecyclev1alpha1.LifecycleEvent) error{
	"write the status of": func(ctx context.Context, r *Recorder, e *lifecyclev1alpha1.LifecycleEvent) error {
		status := *e.Status.DeepCopy()
		status.ClaimStatus = lifecyclev1alpha1.Claimed
		_, err := r.WriteStatus(ctx, e, status)
		return err
	},
	"set the finalizer of": func(ctx context.Context, r *Recorder, e *lifecyclev1alpha1.LifecycleEvent) error {
		return r.Protect(ctx, e, lifecyclev1alpha1.ClaimProtectionFinalizer)
	},
	"remove the finalizer of": func(ctx context.Context, r *Recorder, e *lifecyclev1alpha1.LifecycleEvent) error {
		protected := e.DeepCopy()
		protected.Finalizers = append(protected.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
		return r.Unprotect(ctx, protected, lifecyclev1alpha1.ClaimProtectionFinalizer)
	},
	"remove gate slipway.dev/guards of": func(ctx context.Context, r *Recorder, e *lifecyclev1alpha1.LifecycleEvent) error {
		gated := e.DeepCopy()
		gated.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}, {Name: "example.com/other"}}
		return r.RemoveGate(ctx, gated, lifecyclev1alpha1.GateGuards)
	},
	"change": func(ctx context.Context, r *Recorder, e *lifecyclev1alpha1.LifecycleEvent) error {
		changed := e.DeepCopy()
		changed.Finalizers = append(changed.Finalizers, "example.com/ours")
		_, err := r.Change(ctx, e, changed)
		return err
	},
	"delete": func(ctx context.Context, r *Recorder, e *lifecyclev1alpha1.LifecycleEvent) error {
		return r.Delete(ctx, e)
	},
}

func TestAWriteHoldsOnlyIfTheEventIsAsItWasSeen(t *testing.T) {
	for name, write := range writes {
		t.Run(name+" an event that has changed", func(t *testing.T) {
			recorder, c, seen := stage(t, interceptor.Funcs{})
			changed := seen.DeepCopy()
			changed.Finalizers = append(changed.Finalizers, "example.com/third")
			if err := c.Update(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
			err := write(t.Context(), recorder, seen)
			if !errors.Is(err, ErrStale) || !strings.HasPrefix(err.Error(), name+" *v1alpha1.LifecycleEvent e: ") {
				t.Errorf("got error %v; want %q, and that it is stale", err, name)
			}
			if diff := cmp.Diff(changed.Finalizers, get(t, c).Finalizers); diff != "" {
				t.Errorf("finalizers (-want +got):\n%s", diff)
			}
		})
		t.Run(name+" an event that is gone", func(t *testing.T) {
			recorder, c, seen := stage(t, interceptor.Funcs{})
			stripped := seen.DeepCopy()
			stripped.Finalizers = nil
			if err := c.Update(t.Context(), stripped); err != nil {
				t.Fatal(err)
			}
			if err := c.Delete(t.Context(), stripped); err != nil {
				t.Fatal(err)
			}
			if err := write(t.Context(), recorder, seen); !errors.Is(err, ErrStale) {
				t.Errorf("got error %v; want that it is stale", err)
			}
		})
	}
}

func TestAWriteOfAStatusTellsTheVersionThatItMade(t *testing.T) {
	recorder, c, seen := stage(t, interceptor.Funcs{})
	version, err := recorder.WriteStatus(t.Context(), seen, lifecyclev1alpha1.LifecycleEventStatus{ClaimStatus: lifecyclev1alpha1.Claimed})
	if now := get(t, c).ResourceVersion; err != nil || version != now || version == seen.ResourceVersion {
		t.Errorf("got version %s, error %v; it was %s and is %s", version, err, seen.ResourceVersion, now)
	}
}

func TestADeletionIsOfWhatWasSeen(t *testing.T) {
	var got client.DeleteOptions
	recorder, _, seen := stage(t, interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, _ client.Object, options ...client.DeleteOption) error {
			got.ApplyOptions(options)
			return nil
		},
	})
	if err := recorder.Delete(t.Context(), seen); err != nil {
		t.Fatal(err)
	}
	want := &metav1.Preconditions{UID: &seen.UID, ResourceVersion: &seen.ResourceVersion}
	if diff := cmp.Diff(want, got.Preconditions); diff != "" {
		t.Errorf("preconditions (-want +got):\n%s", diff)
	}
}

func TestOthersFinalizersAreLeftAlone(t *testing.T) {
	recorder, c, seen := stage(t, interceptor.Funcs{})
	if err := recorder.Protect(t.Context(), seen, lifecyclev1alpha1.ClaimProtectionFinalizer); err != nil {
		t.Fatal(err)
	}
	protected := get(t, c)
	want := []string{"example.com/other", lifecyclev1alpha1.ClaimProtectionFinalizer}
	if diff := cmp.Diff(want, protected.Finalizers); diff != "" {
		t.Errorf("after Protect (-want +got):\n%s", diff)
	}
	if err := recorder.Unprotect(t.Context(), protected, lifecyclev1alpha1.ClaimProtectionFinalizer); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"example.com/other"}, get(t, c).Finalizers); diff != "" {
		t.Errorf("after Unprotect (-want +got):\n%s", diff)
	}
}

func TestWhatWasSeenIsNotChanged(t *testing.T) {
	for name, write := range writes {
		t.Run(name, func(t *testing.T) {
			recorder, _, seen := stage(t, interceptor.Funcs{})
			seen.Finalizers = slices.Grow(seen.Finalizers, 4) // an append would show
			before := seen.DeepCopy()
			if err := write(t.Context(), recorder, seen); err != nil && !errors.Is(err, ErrStale) {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, seen); diff != "" {
				t.Errorf("(-before +after):\n%s", diff)
			}
		})
	}
}

func TestOtherErrorsAreToldFromStaleOnes(t *testing.T) {
	refusal := apierrors.NewInternalError(errors.New("on fire"))
	recorder, _, seen := stage(t, interceptor.Funcs{
		SubResourceUpdate: func(context.Context, client.Client, string, client.Object, ...client.SubResourceUpdateOption) error {
			return refusal
		},
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return refusal
		},
		Delete: func(context.Context, client.WithWatch, client.Object, ...client.DeleteOption) error { return refusal },
	})
	for name, write := range writes {
		if err := write(t.Context(), recorder, seen); errors.Is(err, ErrStale) || !apierrors.IsInternalError(err) ||
			!strings.HasPrefix(err.Error(), name+" *v1alpha1.LifecycleEvent e: ") {
			t.Errorf("got error %v; want %q, and the API server's", err, name)
		}
	}
	lct := &lifecyclev1alpha1.LifecycleTransition{ObjectMeta: metav1.ObjectMeta{Name: "t"}}
	if err := recorder.DeleteTransition(t.Context(), lct); !apierrors.IsInternalError(err) {
		t.Errorf("got error %v; want the API server's", err)
	}
}

func TestAnEventIsCreatedAndChangedAsAWhole(t *testing.T) {
	recorder, c, seen := stage(t, interceptor.Funcs{})
	fresh := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: "e"}}
	if _, err := recorder.Create(t.Context(), fresh); !apierrors.IsAlreadyExists(err) {
		t.Errorf("got error %v; want that there is one", err)
	}
	fresh.Name = "f"
	created, err := recorder.Create(t.Context(), fresh)
	if err != nil || created.ResourceVersion == "" || fresh.ResourceVersion != "" {
		t.Errorf("got %v, error %v", created, err)
	}
	changed := seen.DeepCopy()
	changed.Spec.Gates = []lifecyclev1alpha1.Gate{{Name: "example.com/gate"}}
	changed.Finalizers = nil
	after, err := recorder.Change(t.Context(), seen, changed)
	if err != nil || after.ResourceVersion == seen.ResourceVersion || len(after.Spec.Gates) != 1 {
		t.Fatalf("got %v, error %v", after, err)
	}
	if now := get(t, c); len(now.Spec.Gates) != 1 || len(now.Finalizers) != 0 {
		t.Errorf("it is %v", now)
	}
}
