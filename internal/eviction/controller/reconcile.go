// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

// reconcile does all steps for all targets that have or had the pod's name, and says when
// to look again.
func (c *Controller) reconcile(ctx context.Context, pod types.NamespacedName) (wake time.Time, err error) {
	uids, err := c.targets(pod)
	if err != nil {
		return time.Time{}, err
	}
	if !c.asks(pod.Namespace) {
		c.pods.leave(pod.Namespace)
	}
	var errs []error // of one pod, which hold up no other of its name
	for _, uid := range uids {
		again, err := c.settle(ctx, evictionrequest.Target{Namespace: pod.Namespace, Name: pod.Name, UID: uid})
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if wake.IsZero() || !again.IsZero() && again.Before(wake) {
			wake = again
		}
	}
	return wake, errors.Join(errs...)
}

// settle does steps for a target until there is none.
func (c *Controller) settle(ctx context.Context, target evictionrequest.Target) (wake time.Time, err error) {
	var live *answer
	for ctx.Err() == nil {
		facts, known, err := c.gather(target, live)
		if err != nil || !known {
			return time.Time{}, err
		}
		if facts.Extra, err = c.extraFor(ctx, facts); err != nil {
			return time.Time{}, err
		}
		decision := evictionrequest.Next(facts, c.clock.Now())
		if decision.Step == nil {
			return decision.Wake, nil
		}
		live = nil
		if confirm, is := decision.Step.(evictionrequest.Confirm); is {
			if live, err = c.ask(ctx, target, confirm.Requests); err != nil {
				return time.Time{}, err
			}
			continue
		}
		if err := c.perform(ctx, decision.Step); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, context.Cause(ctx)
}

// targets are the UIDs that requests or Evictions name under the pod's name.
func (c *Controller) targets(pod types.NamespacedName) ([]types.UID, error) {
	all := map[types.UID]bool{}
	for _, informer := range []cache.SharedIndexInformer{c.requests, c.evictions} {
		objects, err := informer.GetIndexer().ByIndex(byPod, pod.String())
		if err != nil {
			return nil, err
		}
		for _, o := range objects {
			if _, uid, ok := targetOf(o); ok {
				all[uid] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all)), nil
}

// answer is what the API server says of the pod of a name and, if it was asked for them, of
// requests.
type answer struct {
	pod      *corev1.Pod
	asked    bool // for requests
	requests []*evictionv1alpha1.EvictionRequest
}

// ask asks the API server for the pod, and for requests if there are names.
func (c *Controller) ask(ctx context.Context, target evictionrequest.Target, requests []string) (*answer, error) {
	said := &answer{asked: len(requests) > 0}
	pod, err := c.clients.CoreV1().Pods(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		said.pod = pod
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read pod %s/%s: %w", target.Namespace, target.Name, err)
	}
	for _, name := range requests {
		r, err := c.clients.LifecycleV1alpha1().EvictionRequests(target.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read EvictionRequest %s/%s: %w", target.Namespace, name, err)
		}
		if _, uid, ok := targetOf(r); ok && uid == target.UID {
			said.requests = append(said.requests, r)
		}
	}
	return said, nil
}

// gather is what is known of a target, with what the API server has said of its pod, if it
// was asked. known is false until the namespace's pods are.
func (c *Controller) gather(target evictionrequest.Target, live *answer) (f evictionrequest.Facts, known bool, err error) {
	name := types.NamespacedName{Namespace: target.Namespace, Name: target.Name}
	f = evictionrequest.Facts{Target: target}
	if f.Requests, err = ofTarget[*evictionv1alpha1.EvictionRequest](c, c.requests, name, target.UID); err != nil {
		return f, false, err
	}
	evictions, err := of[*evictionv1alpha1.Eviction](c, c.evictions, name)
	if err != nil {
		return f, false, err
	}
	for _, e := range evictions {
		if _, uid, _ := targetOf(e); uid == target.UID {
			f.Evictions = append(f.Evictions, e)
			continue
		}
		f.Taken = append(f.Taken, e.Name)
	}
	if live != nil {
		f.Pod, f.Confirmed = live.pod, true
		if live.asked {
			f.Requests, f.RequestsConfirmed = live.requests, true
		}
		return f, true, nil
	}
	if len(f.Requests) == 0 {
		return f, true, nil // the pod does not matter any more
	}
	f.Pod, known, err = c.pods.get(name, func() { c.wakeAll(target.Namespace) })
	return f, known, err
}

// extraFor are the responders for the target that it does not name. It matters until the
// Eviction lists them all.
func (c *Controller) extraFor(ctx context.Context, f evictionrequest.Facts) (all []corev1.EvictionResponder, err error) {
	if !f.Begins() {
		return nil, nil
	}
	for _, e := range c.extra {
		applies, err := e.applies(ctx, f.Pod)
		if err != nil {
			return nil, fmt.Errorf("ask whether responder %s is for pod %s/%s: %w", e.responder.Name, f.Target.Namespace, f.Target.Name, err)
		}
		if applies {
			all = append(all, e.responder)
		}
	}
	return all, nil
}

// wakeAll puts all pods of a namespace that somebody asks for into the queue.
func (c *Controller) wakeAll(namespace string) {
	objects, err := c.requests.GetIndexer().ByIndex(cache.NamespaceIndex, namespace)
	if err != nil {
		return
	}
	for _, o := range objects {
		c.changed(o)
	}
}

func ofTarget[T metav1.Object](c *Controller, informer cache.SharedIndexInformer, pod types.NamespacedName, uid types.UID) ([]T, error) {
	all, err := of[T](c, informer, pod)
	return slices.DeleteFunc(all, func(o T) bool {
		_, of, _ := targetOf(o)
		return of != uid
	}), err
}

// of are the objects about pods of that name, as new as they are known.
func of[T metav1.Object](c *Controller, informer cache.SharedIndexInformer, pod types.NamespacedName) ([]T, error) {
	shown := informer.GetIndexer().LastStoreSyncResourceVersion()
	objects, err := informer.GetIndexer().ByIndex(byPod, pod.String())
	if err != nil {
		return nil, err
	}
	seen := make([]T, 0, len(objects))
	for _, o := range objects {
		seen = append(seen, o.(T))
	}
	return newest(c.written, shown, seen, func(o T) bool {
		of, _, ok := targetOf(o)
		return ok && of == pod
	}), nil
}
