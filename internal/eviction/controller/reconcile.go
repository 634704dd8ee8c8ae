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
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
)

// staleAfter is how long the watch is waited for after a write that was decided on an old version. It wakes the
// pod when it shows the new one, unless that is about another pod.
const staleAfter = time.Second

// Reconcile performs all steps for all targets that have or had the pod's name. One that fails delays no other.
func (c *Controller) Reconcile(ctx context.Context, pod types.NamespacedName) (reconcile.Result, error) {
	uids, err := c.targets(pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !c.hasRequests(pod.Namespace) {
		c.pods.leave(pod.Namespace)
	}
	var wake time.Time
	var failed []error
	for _, uid := range uids {
		again, err := c.settle(ctx, evictionrequest.Target{Namespace: pod.Namespace, Name: pod.Name, UID: uid})
		switch {
		case errors.Is(err, errGoing): // the watch shows its end
		case errors.Is(err, errStale):
			again = c.clock.Now().Add(staleAfter)
		case err != nil:
			failed = append(failed, err)
		}
		if wake.IsZero() || !again.IsZero() && again.Before(wake) {
			wake = again
		}
	}
	if ctx.Err() != nil {
		return reconcile.Result{}, nil //nolint:nilerr // the process ends, which is no failure
	}
	c.loop.AddAt(pod, wake)
	return reconcile.Result{}, errors.Join(failed...)
}

// settle performs steps for a target until there is none.
func (c *Controller) settle(ctx context.Context, target evictionrequest.Target) (wake time.Time, err error) {
	var live *liveFacts
	for ctx.Err() == nil {
		facts, known, err := c.gather(ctx, target, live)
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
			if live, err = c.read(ctx, target, confirm.Requests); err != nil {
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

// targets returns the UIDs that requests or Evictions name under the pod's name.
func (c *Controller) targets(pod types.NamespacedName) ([]types.UID, error) {
	all := map[types.UID]bool{}
	for _, informer := range []cache.SharedIndexInformer{c.requests.informer, c.evictions.informer} {
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

// liveFacts are what the API server says of the pod of a name and of requests, if it was asked for requests.
type liveFacts struct {
	pod      *corev1.Pod
	asked    bool // for requests
	requests []*evictionv1alpha1.EvictionRequest
}

// read reads the pod and the requests of these names from the API server.
func (c *Controller) read(ctx context.Context, target evictionrequest.Target, requests []string) (*liveFacts, error) {
	live := &liveFacts{asked: len(requests) > 0}
	pod, err := c.clients.CoreV1().Pods(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	switch {
	case err == nil:
		live.pod = pod
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
			live.requests = append(live.requests, r)
		}
	}
	return live, nil
}

// gather returns what is known of a target; live is what was read from the API server, if it was. known is false
// until the pods of the namespace are known.
func (c *Controller) gather(ctx context.Context, target evictionrequest.Target, live *liveFacts) (f evictionrequest.Facts, known bool, err error) {
	name := types.NamespacedName{Namespace: target.Namespace, Name: target.Name}
	f = evictionrequest.Facts{Target: target}
	requests, err := c.requests.about(name)
	if err != nil {
		return f, false, err
	}
	for _, r := range requests {
		if _, uid, _ := targetOf(r); uid == target.UID {
			f.Requests = append(f.Requests, r)
		}
	}
	evictions, err := c.evictions.about(name)
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
	f.Pod, known, err = c.pods.get(ctx, name)
	return f, known, err
}

// extraFor returns the responders for the target that it does not name. They matter until the Eviction lists
// all its responders.
func (c *Controller) extraFor(ctx context.Context, f evictionrequest.Facts) (all []corev1.EvictionResponder, err error) {
	if !f.Begins() {
		return nil, nil
	}
	for _, e := range c.extra {
		applies, err := e.applies(ctx, f.Pod)
		if err != nil {
			return nil, fmt.Errorf("find out whether responder %s is for pod %s/%s: %w", e.responder.Name, f.Target.Namespace, f.Target.Name, err)
		}
		if applies {
			all = append(all, e.responder)
		}
	}
	return all, nil
}
