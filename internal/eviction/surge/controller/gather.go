// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"

	"github.com/slipway-k8s/slipway/internal/eviction/surge"
)

// group is a ReplicaSet with those of its pods that there is something to do about, by
// their names.
type group struct {
	replicaSet *appsv1.ReplicaSet // nil: there is none
	deployment *appsv1.Deployment // the same
	pods       map[string]*corev1.Pod
}

// groups are those that there is something to do about.
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

// concerned are the pods with our marks, and those with a turn.
func (n *namespace) concerned(ctx context.Context) ([]*corev1.Pod, error) {
	objects, err := n.watches.pods.GetIndexer().ByIndex(marked, marked)
	if err != nil {
		return nil, err
	}
	all := map[types.UID]*corev1.Pod{}
	for _, o := range objects {
		pod := n.newest(o.(*corev1.Pod))
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
	for uid, pod := range n.written { // released, which the watch does not show yet
		if surge.Marked(pod) && all[uid] == nil && n.known(pod) {
			all[uid] = pod
		}
	}
	return slices.Collect(maps.Values(all)), nil
}

// target is the pod of a turn; nil if it is gone. A pod that the watch does not show can
// be too new for it.
func (n *namespace) target(ctx context.Context, t *turn) (*corev1.Pod, error) {
	obj, exists, err := n.watches.pods.GetIndexer().GetByKey(n.name + "/" + t.eviction.PodName)
	if err != nil {
		return nil, err
	}
	if exists && obj.(*corev1.Pod).UID == t.eviction.PodUID {
		return n.newest(obj.(*corev1.Pod)), nil
	}
	pod, err := n.surger.clients.CoreV1().Pods(n.name).Get(ctx, t.eviction.PodName, metav1.GetOptions{})
	return ifThere(pod, t.eviction.PodUID, err)
}

// replicaSetOf is the ReplicaSet that has the pod, or that it was released from.
func (n *namespace) replicaSetOf(ctx context.Context, pod *corev1.Pod) (*appsv1.ReplicaSet, error) {
	if owner := surge.ReplicaSetOf(pod); owner != nil {
		if found, ok := cached[*appsv1.ReplicaSet](n.watches.replicaSets, n.name, owner.Name); ok && found.UID == owner.UID {
			return found, nil
		}
		found, err := n.surger.clients.AppsV1().ReplicaSets(n.name).Get(ctx, owner.Name, metav1.GetOptions{})
		return ifThere(found, owner.UID, err)
	}
	for _, o := range n.watches.replicaSets.GetStore().List() {
		if rs := o.(*appsv1.ReplicaSet); surge.Selects(rs, pod) {
			return rs, nil
		}
	}
	return nil, nil //nolint:nilnil // there is none, which the facts say so
}

// deploymentOf is the Deployment that controls the ReplicaSet, or that owns the pod.
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

// facts are what is known of a group now.
func (n *namespace) facts(g *group) (surge.Facts, error) {
	f := surge.Facts{
		ReplicaSet: g.replicaSet, Deployment: g.deployment,
		Services: all[*corev1.Service](n.watches.services), Budgets: all[*policyv1.PodDisruptionBudget](n.watches.budgets),
	}
	pods := maps.Clone(g.pods)
	if g.replicaSet != nil {
		objects, err := n.watches.pods.GetIndexer().ByIndex(byOwner, string(g.replicaSet.UID))
		if err != nil {
			return f, err
		}
		for _, o := range objects {
			pods[o.(*corev1.Pod).Name] = o.(*corev1.Pod)
		}
	}
	for _, name := range slices.SortedFunc(maps.Keys(pods), strings.Compare) {
		pod := n.newest(pods[name])
		p := surge.Pod{Pod: pod}
		if t := n.turns.get(pod.UID); t != nil {
			p.Turn = t.facts()
		}
		var err error
		if p.Standing, err = n.standing(pod); err != nil {
			return f, err
		}
		f.Pods = append(f.Pods, p)
	}
	return f, nil
}

// newest is the pod as the watch shows it, or as we have written it since.
func (n *namespace) newest(seen *corev1.Pod) *corev1.Pod {
	kept, ok := n.written[seen.UID]
	if !ok {
		return seen
	}
	if order, err := resourceversion.CompareResourceVersion(kept.ResourceVersion, seen.ResourceVersion); err == nil && order > 0 {
		return kept
	}
	delete(n.written, seen.UID)
	return seen
}

// known tells whether the watch shows a pod of that UID. What is gone is forgotten.
func (n *namespace) known(pod *corev1.Pod) bool {
	seen, ok := cached[*corev1.Pod](n.watches.pods, n.name, pod.Name)
	if ok = ok && seen.UID == pod.UID; !ok {
		delete(n.written, pod.UID)
	}
	return ok
}

func cached[T any](informer cache.SharedIndexInformer, namespace, name string) (found T, ok bool) {
	obj, exists, err := informer.GetIndexer().GetByKey(namespace + "/" + name)
	if err != nil || !exists {
		return found, false
	}
	found, ok = obj.(T)
	return found, ok
}

func all[T any](informer cache.SharedIndexInformer) []T {
	var list []T
	for _, o := range informer.GetStore().List() {
		list = append(list, o.(T))
	}
	return list
}

// ifThere makes of the server's answer the object of that UID; nil if there is none.
func ifThere[T any, P interface {
	*T
	metav1.Object
}](found P, uid types.UID, err error) (P, error) {
	switch {
	case apierrors.IsNotFound(err), err == nil && found.GetUID() != uid:
		return nil, nil //nolint:nilnil // there is none, and that is no error
	case err != nil:
		return nil, fmt.Errorf("read what owns a pod, or the pod: %w", err)
	default:
		return found, nil
	}
}
