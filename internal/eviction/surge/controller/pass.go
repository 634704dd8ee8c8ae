// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	policyv1 "k8s.io/api/policy/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// pass performs all steps for all ReplicaSets with work; busy reports whether one has. A failed step delays no other
// ReplicaSet.
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

// stranded reports whether no step can help the pods: their ReplicaSet was deleted, and none of them has a run.
func (n *namespace) stranded(ctx context.Context, g *group) bool {
	if g.replicaSet != nil {
		return false
	}
	for _, pod := range g.pods {
		if n.runs.get(pod.UID) != nil {
			return false
		}
	}
	for _, pod := range g.pods {
		if !n.logged[pod.UID] {
			log.FromContext(ctx).Info("The ReplicaSet of this released pod was deleted: delete the pod by hand, unless it is evicted or its Deployment is deleted", "pod", pod.Name)
		}
		n.logged[pod.UID] = true
	}
	return true
}

// settle performs all steps for a ReplicaSet, and returns the time of the next decision.
func (n *namespace) settle(ctx context.Context, g *group) (wake time.Time, err error) {
	for ctx.Err() == nil {
		facts, err := n.facts(g)
		if err != nil {
			return time.Time{}, err
		}
		decision := surge.Next(facts, n.surger.clock.Now())
		if decision.Step == nil {
			for pod, what := range decision.Waiting {
				if t := n.runs.get(pod); t != nil {
					t.tell(what)
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

// group is a ReplicaSet with its pods that need a step, by name.
type group struct {
	replicaSet *appsv1.ReplicaSet // may be nil
	deployment *appsv1.Deployment // may be nil
	pods       map[string]*corev1.Pod
}

// groups returns the ReplicaSets with work.
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

// concerned returns the pods with the marks of a release, and the pods with a run.
func (n *namespace) concerned(ctx context.Context) (map[types.UID]*corev1.Pod, error) {
	pods, err := n.watches.pods.ByIndex(marked, marked)
	if err != nil {
		return nil, err
	}
	all := map[types.UID]*corev1.Pod{}
	for _, pod := range pods {
		all[pod.UID] = pod
	}
	for _, t := range n.runs.all() {
		pod, err := n.target(ctx, t)
		if err != nil {
			return nil, err
		}
		if pod == nil {
			n.complete(t, "the pod was deleted")
			continue
		}
		all[pod.UID] = pod
	}
	return all, nil
}

// target returns the pod of a run; nil if it was deleted.
func (n *namespace) target(ctx context.Context, t *run) (*corev1.Pod, error) {
	return find(ctx, n.watches.pods, n.name, t.eviction.PodName, t.eviction.PodUID, n.surger.clients.CoreV1().Pods(n.name).Get)
}

// replicaSetOf returns the ReplicaSet that controls the pod, or from which the pod was released.
func (n *namespace) replicaSetOf(ctx context.Context, pod *corev1.Pod) (*appsv1.ReplicaSet, error) {
	if owner := surge.ReplicaSetOf(pod); owner != nil {
		return find(ctx, n.watches.replicaSets, n.name, owner.Name, owner.UID, n.surger.clients.AppsV1().ReplicaSets(n.name).Get)
	}
	for _, rs := range all[*appsv1.ReplicaSet](n.watches.replicaSets) {
		if surge.Selects(rs, pod) {
			return rs, nil
		}
	}
	return nil, nil //nolint:nilnil // the facts have no ReplicaSet then
}

// deploymentOf returns the Deployment that controls the ReplicaSet, or that owns the pod.
func (n *namespace) deploymentOf(ctx context.Context, pod *corev1.Pod, rs *appsv1.ReplicaSet) (*appsv1.Deployment, error) {
	owner := surge.DeploymentOwner(pod)
	if rs != nil {
		owner = metav1.GetControllerOfNoCopy(rs)
	}
	if owner == nil || owner.Kind != "Deployment" || owner.APIVersion != appsv1.SchemeGroupVersion.String() {
		return nil, nil //nolint:nilnil // the facts have no Deployment then
	}
	return find(ctx, n.watches.deployments, n.name, owner.Name, owner.UID, n.surger.clients.AppsV1().Deployments(n.name).Get)
}

// facts returns the current facts about a group.
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
		controlled, err := n.watches.pods.ByIndex(byOwner, string(g.replicaSet.UID))
		if err != nil {
			return f, err
		}
		for _, pod := range controlled {
			pods[pod.Name] = pod
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(pods), strings.Compare) {
		p := surge.Pod{Pod: pods[name]}
		if t := n.runs.get(p.UID); t != nil {
			p.Run = &surge.Run{Since: t.since, GivenUp: t.givenUp}
		}
		var err error
		if p.Standing, err = n.standing(p.Pod); err != nil {
			return f, err
		}
		f.Pods = append(f.Pods, p)
	}
	return f, nil
}

// standing returns the status of the pod's Eviction. A run that this process has completed counts as completed
// before the watch shows it.
func (n *namespace) standing(pod *corev1.Pod) (surge.Standing, error) {
	evictions, err := n.watches.evictions.ByIndex(byPod, string(pod.UID))
	if err != nil {
		return surge.NoEviction, err
	}
	for _, e := range evictions {
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
		// The state does not show a completion at once.
		if slices.ContainsFunc(e.Status.Responders, func(r evictionv1alpha1.ResponderStatus) bool {
			return r.Name == surge.Responder && r.CompletionTime != nil
		}) {
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
