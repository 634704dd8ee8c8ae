// SPDX-License-Identifier: Apache-2.0

package requester

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
)

var (
	// errTaken means that there is a request which the watch has not shown.
	errTaken = errors.New("there is an EvictionRequest of that name")
	// errUnseen means that there is an event which the cache has not shown.
	errUnseen = errors.New("the event is there, and the cache does not show it yet")
)

// perform does a step.
func (r *Requester) perform(ctx context.Context, facts Facts, step Step, looked *looked) error {
	switch s := step.(type) {
	case Confirm:
		gone, err := r.confirm(ctx, facts)
		if err == nil && !gone {
			err = errUnseen
		}
		looked.gone = gone
		return err
	case Look:
		seen, err := r.look(ctx, facts.Event, s.Pod)
		if err == nil {
			looked.see(s.Pod, seen)
		}
		return err
	case Refuse:
		r.pods.settle(s.Event.UID, s.Pod)
		looked.refuse(s)
		return nil
	case Wait:
		r.pods.wait(facts.UID, s, r.clock.Now())
		return nil
	case Ask:
		return r.ask(ctx, s)
	case Withdraw:
		return r.withdraw(ctx, s)
	case Delete:
		return r.delete(ctx, facts.UID, s)
	default:
		return fmt.Errorf("%T is not a step to perform", step)
	}
}

func (r *Requester) ask(ctx context.Context, s Ask) error {
	created, err := r.clients.LifecycleV1alpha1().EvictionRequests(s.Request.Namespace).Create(ctx, s.Request, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		err = errTaken
	}
	if err != nil {
		return fmt.Errorf("create EvictionRequest %s/%s: %w", s.Request.Namespace, s.Request.Name, err)
	}
	r.written.Keep(created)
	faultpoint.Reach(faultpoint.PodRequested)
	return nil
}

func (r *Requester) withdraw(ctx context.Context, s Withdraw) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"uid": s.Request.UID}, // of this one, and no other of its name
		"spec":     map[string]any{"intent": evictionv1alpha1.EvictionRequestIntentWithdrawn},
	})
	if err != nil {
		return fmt.Errorf("encode that an eviction is not wanted: %w", err)
	}
	withdrawn, err := r.clients.LifecycleV1alpha1().EvictionRequests(s.Request.Namespace).
		Patch(ctx, s.Request.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if isGone(err) {
		r.written.Deleted(s.Request)
		return nil
	}
	if err != nil {
		return fmt.Errorf("withdraw EvictionRequest %s/%s: %w", s.Request.Namespace, s.Request.Name, err)
	}
	r.written.Keep(withdrawn)
	faultpoint.Reach(faultpoint.RequestWithdrawn)
	return nil
}

func (r *Requester) delete(ctx context.Context, event types.UID, s Delete) error {
	err := r.clients.LifecycleV1alpha1().EvictionRequests(s.Request.Namespace).Delete(ctx, s.Request.Name,
		metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(s.Request.UID))})
	if err != nil && !isGone(err) {
		return fmt.Errorf("delete EvictionRequest %s/%s: %w", s.Request.Namespace, s.Request.Name, err)
	}
	if evicted(s.Request) {
		r.pods.settle(event, subject(s.Request)) // the event may name it for a moment longer
	}
	r.written.Deleted(s.Request)
	faultpoint.Reach(faultpoint.RequestDeleted)
	return nil
}

// isGone says whether the object does not exist any more; another may have its name.
func isGone(err error) bool { return apierrors.IsNotFound(err) || apierrors.IsConflict(err) }
