// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
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
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	evictionrequest "github.com/slipway-k8s/slipway/internal/eviction/request"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
)

// staleAfter is the maximum wait for the watch after a write that was decided on an old version. The watch wakes the
// pod earlier, unless the new version is about another pod.
const staleAfter = time.Second

var (
	// errStale means that an object has changed since the decision, or was deleted.
	errStale = errors.New("the object has changed since")
	// errGoing means that the API server has accepted a deletion. The next decision follows the end of the object.
	errGoing = errors.New("the object is terminating")
)

// Reconcile performs all steps for all targets that have or had the pod's name. A failed step delays no other target.
func (c *Controller) Reconcile(ctx context.Context, pod types.NamespacedName) (reconcile.Result, error) {
	uids, err := c.targets(pod)
	if err != nil {
		return reconcile.Result{}, err
	}
	if !c.hasRequests(cache.NamespaceIndex, pod.Namespace) {
		c.pods.leave(pod.Namespace)
	}
	c.forgetEnded(pod, uids)
	var wake time.Time
	var failed []error
	for _, uid := range uids {
		again, err := c.settle(ctx, evictionrequest.Target{Namespace: pod.Namespace, Name: pod.Name, UID: uid})
		switch {
		case errors.Is(err, errGoing): // the watch shows the end
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

// settle performs all steps for a target.
func (c *Controller) settle(ctx context.Context, target evictionrequest.Target) (wake time.Time, err error) {
	var live *liveFacts
	for ctx.Err() == nil {
		facts, known, err := c.gather(ctx, target, live)
		if err != nil || !known {
			return time.Time{}, err
		}
		facts.Ended = c.endedSince(facts)
		if facts.Extra, err = c.extraFor(ctx, facts); err != nil {
			return time.Time{}, err
		}
		decision := evictionrequest.Next(facts, c.clock.Now())
		if decision.Yields {
			log.FromContext(ctx).Info("Kubernetes' own evictionrequest-controller works on an Eviction of the pod", "podUID", target.UID, "until", decision.Wake)
			c.left()
		}
		if decision.Step == nil {
			return decision.Wake, nil
		}
		live = nil
		if confirm, is := decision.Step.(evictionrequest.Confirm); is {
			live, err = c.read(ctx, target, confirm.Requests)
		} else {
			err = c.perform(ctx, decision.Step)
		}
		if err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, context.Cause(ctx)
}

// endedSince returns when the target was first seen deleted or completed; zero if it exists.
func (c *Controller) endedSince(f evictionrequest.Facts) time.Time {
	all, _ := c.ended.LoadOrStore(types.NamespacedName{Namespace: f.Target.Namespace, Name: f.Target.Name}, map[types.UID]time.Time{})
	since := all.(map[types.UID]time.Time)
	switch at, known := since[f.Target.UID]; {
	case !f.HasEnded():
		delete(since, f.Target.UID)
	case known:
		return at
	default:
		since[f.Target.UID] = c.clock.Now()
	}
	return since[f.Target.UID]
}

// forgetEnded forgets the targets of a name that no object mentions.
func (c *Controller) forgetEnded(pod types.NamespacedName, mentioned []types.UID) {
	all, known := c.ended.Load(pod)
	if !known {
		return
	}
	since := all.(map[types.UID]time.Time)
	maps.DeleteFunc(since, func(uid types.UID, _ time.Time) bool { return !slices.Contains(mentioned, uid) })
	if len(mentioned) == 0 {
		c.ended.Delete(pod)
	}
}

// targets returns the UIDs that requests or Evictions name under the pod's name.
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

// liveFacts are the API server's answers about a pod, and about requests if they were read.
type liveFacts struct {
	pod          *corev1.Pod
	readRequests bool
	requests     []*evictionv1alpha1.EvictionRequest
}

// read reads the pod and the requests with these names from the API server.
func (c *Controller) read(ctx context.Context, target evictionrequest.Target, requests []string) (*liveFacts, error) {
	live := &liveFacts{readRequests: len(requests) > 0}
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

// gather returns the facts about a target, with the API server's answers in live, which may be nil. known is false
// until the watch knows the pods of the namespace.
func (c *Controller) gather(ctx context.Context, target evictionrequest.Target, live *liveFacts) (f evictionrequest.Facts, known bool, err error) {
	name := types.NamespacedName{Namespace: target.Namespace, Name: target.Name}
	f = evictionrequest.Facts{Target: target}
	requests, err := c.requests.ByIndex(byPod, name.String())
	if err != nil {
		return f, false, err
	}
	evictions, err := c.evictions.ByIndex(byPod, name.String())
	if err != nil {
		return f, false, err
	}
	for _, r := range requests {
		if _, uid, _ := targetOf(r); uid == target.UID {
			f.Requests = append(f.Requests, r)
		}
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
		if live.readRequests {
			f.Requests, f.RequestsConfirmed = live.requests, true
		}
		return f, true, nil
	}
	if len(f.Requests) == 0 {
		return f, true, nil // the pod is irrelevant
	}
	f.Pod, known, err = c.pods.get(ctx, name)
	return f, known, err
}

// extraFor returns the responders for the target that it does not name. They matter until the Eviction lists
// all its responders.
func (c *Controller) extraFor(ctx context.Context, f evictionrequest.Facts) (all []corev1.EvictionResponder, err error) {
	if !f.Begins(c.clock.Now()) {
		return nil, nil
	}
	for _, r := range c.extra {
		applies, err := r.Applies(ctx, f.Pod)
		if err != nil {
			return nil, fmt.Errorf("find out whether responder %s is for pod %s/%s: %w", r.Name, f.Target.Namespace, f.Target.Name, err)
		}
		if applies {
			all = append(all, r.EvictionResponder)
		}
	}
	return all, nil
}

// perform performs a step. From then on, the server's answer counts.
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
		// A merge patch replaces whole lists, so it needs the resource version.
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
		changed.Status, changed.ManagedFields = s.Status, nil // the server keeps its own
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

// keep records the server's answer to a write, or returns its error.
func keep[T ownwrites.Object](in ownwrites.Informer[T], verb string, seen, written T, err error, point string) error {
	switch {
	case err == nil:
		in.Keep(written)
		faultpoint.Reach(point)
		return nil
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		in.Forget(seen.GetUID())
		err = errStale
	}
	return fmt.Errorf("%s %s/%s: %w", verb, seen.GetNamespace(), seen.GetName(), err)
}
