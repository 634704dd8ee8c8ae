// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// refusal returns the reason for which a pod gets no replacement; empty if it gets one.
func (v *view) refusal(pod *corev1.Pod) string {
	until, unready := unreadyUntil(pod)
	switch {
	case v.ReplicaSet == nil || v.Deployment == nil || pod.Labels[LabelHash] == "":
		return "the pod is not a Deployment's"
	case unready && !v.now.Before(until):
		return "the pod is not Ready, so it needs no replacement"
	case v.Deployment.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType:
		return fmt.Sprintf("Deployment %s has the strategy Recreate: there must not be two of its pods in each other's place at the same time", v.Deployment.Name)
	case v.rollout != "":
		return v.rollout
	default:
		return selectedByHash(v.Facts, pod)
	}
}

// rollout returns the reason for a change of the Deployment's pods; empty for a stable Deployment.
func rollout(f Facts) string {
	d := f.Deployment
	switch {
	case d == nil:
		return "its Deployment was deleted"
	case f.ReplicaSet == nil:
		return "its ReplicaSet was deleted"
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

// isNewest reports whether the ReplicaSet has the Deployment's template, compared as the Deployment controller does.
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

// held returns the reason to release no pod now; empty without a reason.
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
		return fmt.Sprintf("ReplicaSet %s has %d pods instead of %d", f.ReplicaSet.Name, has, f.replicas())
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

// leftToCollector reports whether the garbage collector deletes the pod with its owner, the Deployment.
func leftToCollector(f Facts, pod *corev1.Pod) bool {
	return DeploymentOwner(pod) != nil && (f.Deployment == nil || isDeleted(f.Deployment))
}

// replaced reports whether enough pods are available without this one and without earlier pods that may be evicted. at is
// the time at which Ready pods become available.
func (v *view) replaced(p Pod) (enough bool, at time.Time) {
	available := 0
	for _, other := range v.Pods {
		if other.UID == p.UID || isReleased(other.Pod) && other.Standing != NoEviction && other.Standing != Awaited {
			continue
		}
		since, ready := readySince(other.Pod)
		ripe := since.Add(time.Duration(v.ReplicaSet.Spec.MinReadySeconds) * time.Second)
		switch {
		case !ready || isTerminating(other.Pod):
		case v.now.Before(ripe):
			if at.IsZero() || ripe.Before(at) {
				at = ripe
			}
		default:
			available++
		}
	}
	return available >= v.replicas()-min(v.excused(), unreadyBefore(p.Pod)), at
}

// excused counts the pods that existed long before any release, and are not Ready. The replacement of a returned pod may
// be among them, so each release records their number.
func (f Facts) excused() int {
	n := 0
	for _, p := range f.Pods {
		ofRelease := slices.ContainsFunc(f.Pods, func(released Pod) bool { return isReleased(released.Pod) && isCandidate(released, p.Pod) })
		if f.controls(p.Pod) && !isTerminating(p.Pod) && !isReady(p.Pod) && !ofRelease {
			n++
		}
	}
	return n
}

// isCandidate reports whether the release of p can have caused the creation of the pod.
func isCandidate(p Pod, pod *corev1.Pod) bool {
	return !pod.CreationTimestamp.Add(clockSkew).Before(releasedAt(p.Pod))
}

// lacking returns the reason for which a released pod waits.
func lacking(f Facts) string {
	var unready *corev1.Pod // the newest
	for _, other := range f.Pods {
		if !f.controls(other.Pod) || isTerminating(other.Pod) || isReady(other.Pod) {
			continue
		}
		if why, stuck := unschedulable(other.Pod); stuck {
			return fmt.Sprintf("the replacement, pod %s, cannot be scheduled: %s", other.Name, why)
		}
		if unready == nil || newer(other.Pod, unready) {
			unready = other.Pod
		}
	}
	switch {
	case unready == nil:
		return fmt.Sprintf("of ReplicaSet %s, %d pods must be available, and fewer are", f.ReplicaSet.Name, f.replicas())
	case unready.Spec.NodeName == "":
		return fmt.Sprintf("the replacement, pod %s, is not scheduled yet", unready.Name)
	default:
		return fmt.Sprintf("the replacement, pod %s on node %s, is not Ready", unready.Name, unready.Spec.NodeName)
	}
}

// newer orders pods of the same second by their names.
func newer(a, b *corev1.Pod) bool {
	return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(b.Name, a.Name)) > 0
}
