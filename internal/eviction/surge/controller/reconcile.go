// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// pass performs all steps for all ReplicaSets that have something to do; busy says whether any has. One that
// fails delays no other.
func (n *namespace) pass(ctx context.Context) (busy bool, wake time.Time, err error) {
	groups, err := n.groups(ctx)
	if err != nil {
		return true, time.Time{}, err
	}
	var failed []error
	for _, g := range groups {
		again, err := n.settle(ctx, g)
		if err != nil && !errors.Is(err, errStale) { // the watch shows what has changed
			failed = append(failed, err)
		}
		busy = busy || err != nil || !n.stranded(ctx, g)
		if wake.IsZero() || !again.IsZero() && again.Before(wake) {
			wake = again
		}
	}
	return busy, wake, errors.Join(failed...)
}

// stranded says whether nothing can be done for the pods: their ReplicaSet is gone, and none of them has a turn.
func (n *namespace) stranded(ctx context.Context, g *group) bool {
	if g.replicaSet != nil {
		return false
	}
	for _, pod := range g.pods {
		if n.turns.get(pod.UID) != nil {
			return false
		}
	}
	for _, pod := range g.pods {
		if !n.told[pod.UID] {
			log.FromContext(ctx).Info("The ReplicaSet that this pod was released from is gone: unless it is evicted, or its Deployment deleted, delete it by hand", "pod", pod.Name)
		}
		n.told[pod.UID] = true
	}
	return true
}

// settle performs steps for a ReplicaSet until there is none, and returns when to look again.
func (n *namespace) settle(ctx context.Context, g *group) (wake time.Time, err error) {
	for ctx.Err() == nil {
		facts, err := n.facts(g)
		if err != nil {
			return time.Time{}, err
		}
		decision := surge.Next(facts, n.surger.clock.Now())
		if decision.Step == nil {
			for pod, what := range decision.Waiting {
				if t := n.turns.get(pod); t != nil {
					t.say(what)
				}
			}
			return decision.Wake, nil
		}
		if err := n.perform(ctx, g, decision.Step); err != nil {
			return time.Time{}, err
		}
	}
	return time.Time{}, context.Cause(ctx)
}

// group is a ReplicaSet with those of its pods that have something to do, by name.
type group struct {
	replicaSet *appsv1.ReplicaSet // nil: there is none
	deployment *appsv1.Deployment // the same
	pods       map[string]*corev1.Pod
}

// groups returns the ReplicaSets that have something to do.
func (n *namespace) groups(ctx context.Context) ([]*group, error) {
	pods, err := n.concerned(ctx)
	if err != nil {
		return nil, err
	}
	all := map[types.UID]*group{}
	for _, pod := range pods {
		replicaSet, err := n.replicaSetOf(ctx, pod)
		if err != nil {
			return nil, err
		}
		key := pod.UID
		if replicaSet != nil {
			key = replicaSet.UID
		}
		if all[key] == nil {
			deployment, err := n.deploymentOf(ctx, pod, replicaSet)
			if err != nil {
				return nil, err
			}
			all[key] = &group{replicaSet, deployment, map[string]*corev1.Pod{}}
		}
		all[key].pods[pod.Name] = pod
	}
	return slices.Collect(maps.Values(all)), nil
}

// concerned returns the pods that carry the marks of a release, and those that have a turn.
func (n *namespace) concerned(ctx context.Context) (map[types.UID]*corev1.Pod, error) {
	pods, err := n.watches.podsBy(marked, marked)
	if err != nil {
		return nil, err
	}
	all := map[types.UID]*corev1.Pod{}
	for _, pod := range pods {
		all[pod.UID] = pod
	}
	for _, t := range n.turns.all() {
		pod, err := n.target(ctx, t)
		if err != nil {
			return nil, err
		}
		if pod == nil {
			n.complete(t, "the pod is gone")
			continue
		}
		all[pod.UID] = pod
	}
	return all, nil
}

// target returns the pod of a turn; nil if it is gone. A pod that the watch does not show can be too new for it.
func (n *namespace) target(ctx context.Context, t *turn) (*corev1.Pod, error) {
	if pod, ok := cached[*corev1.Pod](n.watches.pods, n.name, t.eviction.PodName); ok && pod.UID == t.eviction.PodUID {
		return n.watches.current(pod), nil
	}
	pod, err := n.surger.clients.CoreV1().Pods(n.name).Get(ctx, t.eviction.PodName, metav1.GetOptions{})
	return ifThere(pod, t.eviction.PodUID, err)
}

// replicaSetOf returns the ReplicaSet that controls the pod, or that it was released from.
func (n *namespace) replicaSetOf(ctx context.Context, pod *corev1.Pod) (*appsv1.ReplicaSet, error) {
	if owner := surge.ReplicaSetOf(pod); owner != nil {
		if found, ok := cached[*appsv1.ReplicaSet](n.watches.replicaSets, n.name, owner.Name); ok && found.UID == owner.UID {
			return found, nil
		}
		found, err := n.surger.clients.AppsV1().ReplicaSets(n.name).Get(ctx, owner.Name, metav1.GetOptions{})
		return ifThere(found, owner.UID, err)
	}
	for _, rs := range all[*appsv1.ReplicaSet](n.watches.replicaSets) {
		if surge.Selects(rs, pod) {
			return rs, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, and the facts say so
}

// deploymentOf returns the Deployment that controls the ReplicaSet, or that owns the pod.
func (n *namespace) deploymentOf(ctx context.Context, pod *corev1.Pod, rs *appsv1.ReplicaSet) (*appsv1.Deployment, error) {
	owner := surge.DeploymentOwner(pod)
	if rs != nil {
		owner = metav1.GetControllerOfNoCopy(rs)
	}
	if owner == nil || owner.Kind != "Deployment" || owner.APIVersion != appsv1.SchemeGroupVersion.String() {
		return nil, nil //nolint:nilnil // the same
	}
	if found, ok := cached[*appsv1.Deployment](n.watches.deployments, n.name, owner.Name); ok && found.UID == owner.UID {
		return found, nil
	}
	found, err := n.surger.clients.AppsV1().Deployments(n.name).Get(ctx, owner.Name, metav1.GetOptions{})
	return ifThere(found, owner.UID, err)
}

// ifThere turns the server's answer into the object of that UID; nil if there is none.
func ifThere[T any, P interface {
	*T
	metav1.Object
}](found P, uid types.UID, err error) (P, error) {
	switch {
	case apierrors.IsNotFound(err), err == nil && found.GetUID() != uid:
		return nil, nil //nolint:nilnil // there is none, which is no error
	case err != nil:
		return nil, fmt.Errorf("read what owns a pod, or the pod: %w", err)
	default:
		return found, nil
	}
}

// facts returns what is known of a group now.
func (n *namespace) facts(g *group) (surge.Facts, error) {
	f := surge.Facts{
		ReplicaSet: g.replicaSet, Deployment: g.deployment,
		Services: all[*corev1.Service](n.watches.services), Budgets: all[*policyv1.PodDisruptionBudget](n.watches.budgets),
	}
	pods := map[string]*corev1.Pod{}
	for name, pod := range g.pods {
		pods[name] = n.watches.current(pod)
	}
	if g.replicaSet != nil {
		controlled, err := n.watches.podsBy(byOwner, string(g.replicaSet.UID))
		if err != nil {
			return f, err
		}
		for _, pod := range controlled {
			pods[pod.Name] = pod
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(pods), strings.Compare) {
		p := surge.Pod{Pod: pods[name]}
		if t := n.turns.get(p.UID); t != nil {
			p.Turn = t.facts()
		}
		var err error
		if p.Standing, err = n.standing(p.Pod); err != nil {
			return f, err
		}
		f.Pods = append(f.Pods, p)
	}
	return f, nil
}

// standing returns the status of the pod's Eviction. A turn that this process has completed counts as completed,
// whether the watch shows it or not.
func (n *namespace) standing(pod *corev1.Pod) (surge.Standing, error) {
	objects, err := n.watches.evictions.GetIndexer().ByIndex(byPod, string(pod.UID))
	if err != nil {
		return surge.NoEviction, err
	}
	for _, o := range objects {
		e := o.(*evictionv1alpha1.Eviction)
		if hasEnded(e) {
			delete(n.letGo, e.UID)
			continue
		}
		is := standingOf(e)
		if is == surge.Awaited && n.letGo[e.UID] {
			return surge.LetGo, nil
		}
		return is, nil
	}
	return surge.NoEviction, nil
}

func hasEnded(e *evictionv1alpha1.Eviction) bool {
	return e.DeletionTimestamp != nil ||
		apimeta.IsStatusConditionTrue(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionTargetEvicted)) ||
		apimeta.IsStatusConditionTrue(e.Status.Conditions, string(evictionv1alpha1.EvictionConditionFailed))
}

func standingOf(e *evictionv1alpha1.Eviction) surge.Standing {
	if len(e.Status.TargetResponders) == 0 {
		return surge.Awaited // it has only begun
	}
	i := slices.IndexFunc(e.Status.TargetResponders, func(r evictionv1alpha1.TargetResponder) bool { return r.Name == surge.Responder })
	if i < 0 {
		return surge.NoEviction
	}
	switch e.Status.TargetResponders[i].State {
	case evictionv1alpha1.ResponderStateActive:
		if hasCompleted(e) { // the state does not show it yet
			return surge.LetGo
		}
		return surge.Awaited
	case evictionv1alpha1.ResponderStateInactive:
		return surge.Awaited
	case evictionv1alpha1.ResponderStateInterrupted:
		return surge.Interrupted
	case evictionv1alpha1.ResponderStateCompleted:
		return surge.LetGo
	default: // canceled
		return surge.NoEviction
	}
}

// hasCompleted says whether the responder's completion is written.
func hasCompleted(e *evictionv1alpha1.Eviction) bool {
	return slices.ContainsFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool {
		return r.Name == surge.Responder && r.CompletionTime != nil
	})
}
