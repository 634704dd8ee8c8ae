// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// refusal returns why a pod gets no replacement; empty if it gets one.
func (v *view) refusal(pod *corev1.Pod) string {
	until, unready := unreadyUntil(pod)
	switch {
	case v.ReplicaSet == nil || v.Deployment == nil || pod.Labels[LabelHash] == "":
		return "the pod is not a Deployment's"
	case unready && !v.now.Before(until):
		return "the pod is not Ready, so there is nothing to keep up"
	case v.Deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return fmt.Sprintf("Deployment %s has the strategy Recreate: there must not be two of its pods in each other's place at the same time", v.Deployment.Name)
	case v.rollout != "":
		return v.rollout
	default:
		return selectedByHash(v.Facts, pod)
	}
}

// rollout returns why the Deployment does not stay as it is; empty if it does.
func rollout(f Facts) string {
	d := f.Deployment
	switch {
	case d == nil:
		return "its Deployment is gone"
	case f.ReplicaSet == nil:
		return "its ReplicaSet is gone"
	case isDeleted(d), isDeleted(f.ReplicaSet):
		return fmt.Sprintf("Deployment %s is being deleted", d.Name)
	case d.Spec.Paused:
		return fmt.Sprintf("Deployment %s is paused", d.Name)
	case !isNewest(d, f.ReplicaSet):
		return fmt.Sprintf("Deployment %s rolls out another template", d.Name)
	case isObserved(d) && d.Status.Replicas > d.Status.UpdatedReplicas:
		return fmt.Sprintf("Deployment %s has pods of an older template: its rollout is not over", d.Name)
	}
	return ""
}

func isDeleted(o metav1.Object) bool { return o.GetDeletionTimestamp() != nil }

func isObserved(d *appsv1.Deployment) bool { return d.Status.ObservedGeneration >= d.Generation }

// isNewest says whether the ReplicaSet has the Deployment's template, compared as the Deployment controller does.
func isNewest(d *appsv1.Deployment, rs *appsv1.ReplicaSet) bool {
	of := rs.Spec.Template.DeepCopy()
	delete(of.Labels, LabelHash)
	want := d.Spec.Template.DeepCopy()
	delete(want.Labels, LabelHash)
	return equality.Semantic.DeepEqual(of, want)
}

// selectedByHash returns which selector would not match the pod after its release.
func selectedByHash(f Facts, pod *corev1.Pod) string {
	for _, s := range f.Services {
		if _, byHash := s.Spec.Selector[LabelHash]; byHash && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			return fmt.Sprintf("Service %s selects it by %s", s.Name, LabelHash)
		}
	}
	for _, b := range f.Budgets {
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !selector.Matches(labels.Set(pod.Labels)) {
			continue
		}
		requirements, _ := selector.Requirements()
		if slices.ContainsFunc(requirements, func(r labels.Requirement) bool { return r.Key() == LabelHash }) {
			return fmt.Sprintf("budget %s selects it by %s", b.Name, LabelHash)
		}
	}
	return ""
}

// held returns why no pod is released for now; empty if one may be.
func held(f Facts) string {
	if !isObserved(f.Deployment) {
		return fmt.Sprintf("the Deployment controller has not seen the newest version of Deployment %s", f.Deployment.Name)
	}
	has := 0
	for _, p := range f.Pods {
		if why, stuck := unschedulable(p.Pod); stuck && f.controls(p.Pod) {
			return fmt.Sprintf("pod %s of the same ReplicaSet cannot be scheduled: %s", p.Name, why)
		}
		if !isReleased(p.Pod) && !isTerminating(p.Pod) {
			has++
		}
	}
	// A surplus pod would count as the replacement.
	if has > f.replicas() {
		return fmt.Sprintf("ReplicaSet %s has %d pods, and is to have %d", f.ReplicaSet.Name, has, f.replicas())
	}
	return ""
}

func unschedulable(pod *corev1.Pod) (why string, stuck bool) {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return c.Message, !isTerminating(pod)
		}
	}
	return "", false
}

// leftToCollector says whether the garbage collector deletes the pod: its owner, the Deployment, is gone or
// being deleted.
func leftToCollector(f Facts, pod *corev1.Pod) bool {
	return DeploymentOwner(pod) != nil && (f.Deployment == nil || isDeleted(f.Deployment))
}
