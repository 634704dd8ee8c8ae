// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"maps"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
)

// others lets the agents and the Job controller do one thing each, and says what they did.
func (w *world) others() (did []string) {
	did = w.holdLeases()
	for _, name := range slices.Sorted(maps.Keys(w.events)) {
		if e := w.events[name]; e != nil {
			if what := w.agent(e); what != "" {
				did = append(did, what)
			}
		}
	}
	did = append(did, w.daemonSets()...)
	if !w.slowJobs {
		for _, name := range slices.Sorted(maps.Keys(w.jobs)) {
			if j := w.jobs[name]; finishedAs(j) == nil {
				finishJob(j, batchv1.JobComplete, "", "")
				did = append(did, "Job of "+j.Annotations[annotationNode]+" completes")
			}
		}
	}
	return did
}

func finishJob(j *batchv1.Job, as batchv1.JobConditionType, reason, message string) {
	j.Status.Conditions = append(j.Status.Conditions, batchv1.JobCondition{Type: as, Status: corev1.ConditionTrue, Reason: reason, Message: message})
}

func (w *world) condition(e *lifecyclev1alpha1.LifecycleEvent, kind string, is metav1.ConditionStatus, reason, message string) {
	c := metav1.Condition{Type: kind, Status: is, Reason: reason, Message: message, ObservedGeneration: e.Generation, LastTransitionTime: metav1.NewTime(w.now)}
	apimeta.SetStatusCondition(&e.Status.Conditions, c)
}

// agent takes an event one step further.
func (w *world) agent(e *lifecyclev1alpha1.LifecycleEvent) string {
	n := w.nodes[e.Spec.BindingNode]
	protected := slices.Contains(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
	switch {
	case e.Status.ClaimStatus.Terminal() && protected:
		if e.DeletionTimestamp != nil && n != nil && e.Status.ClaimStatus == lifecyclev1alpha1.Failed {
			n.release(e.UID)
		}
		e.Finalizers = slices.DeleteFunc(e.Finalizers, func(f string) bool { return f == lifecyclev1alpha1.ClaimProtectionFinalizer })
		w.deleteEvent(e.Name)
		w.collect(e)
		return "agent: winds up " + e.Name
	case e.Status.ClaimStatus.Terminal():
		if e.DeletionTimestamp == nil {
			w.deleteEvent(e.Name)
			return "agent: deletes " + e.Name
		}
		return ""
	case n == nil || e.DeletionTimestamp != nil && claimed(e):
		return w.cancel(e, n)
	case oversight.Guarded(e) && len(e.Spec.Gates) == 1:
		return w.guard(e)
	case pending(e):
		if e.DeletionTimestamp != nil || len(e.Spec.Gates) > 0 || w.occupied(e) {
			return ""
		}
		e.Status.ClaimStatus = lifecyclev1alpha1.Claimed
		e.Finalizers = append(e.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)
		w.condition(e, lifecyclev1alpha1.ConditionClaimable, metav1.ConditionTrue, lifecyclev1alpha1.ReasonClaimed, "")
		return "agent: claims " + e.Name
	case e.Spec.TransitionName == lifecyclev1alpha1.DrainTransition:
		return w.drive(e, n)
	default:
		return w.putBack(e, n)
	}
}

func leaseGated(e *lifecyclev1alpha1.LifecycleEvent) bool {
	return slices.Contains(e.Spec.Gates, leaseGate)
}

// cancel ends an event that was deleted, or whose Node is gone.
func (w *world) cancel(e *lifecyclev1alpha1.LifecycleEvent, n *machine) string {
	if pending(e) && e.DeletionTimestamp != nil {
		return ""
	}
	e.Status.ClaimStatus = lifecyclev1alpha1.Failed
	reason := lifecyclev1alpha1.ReasonCanceled
	if n == nil {
		reason = lifecyclev1alpha1.ReasonNodeGone
	}
	w.condition(e, lifecyclev1alpha1.ConditionFinished, metav1.ConditionTrue, reason, "")
	return "agent: cancels " + e.Name
}

// occupied says whether another event of the node is worked on.
func (w *world) occupied(e *lifecyclev1alpha1.LifecycleEvent) bool {
	for _, other := range w.events {
		if other != e && other.Spec.BindingNode == e.Spec.BindingNode && (claimed(other) || slices.Contains(other.Finalizers, lifecyclev1alpha1.ClaimProtectionFinalizer)) {
			return true
		}
	}
	return false
}

// drive cordons, evicts what the targets cover, and ends when it is not held.
func (w *world) drive(e *lifecyclev1alpha1.LifecycleEvent, n *machine) string {
	if !slices.Contains(n.cordonedFor, e.UID) {
		if len(n.cordonedFor) == 0 {
			n.before = n.node.Spec.Unschedulable
		}
		n.cordonedFor = append(n.cordonedFor, e.UID)
		n.node.Spec.Unschedulable = true
	}
	if e.Status.ObservedGeneration != e.Generation { // newer parameters begin a new run
		n.node.Spec.Unschedulable, e.Status.ObservedGeneration = true, e.Generation
	}
	parameters := ParametersOf(e)
	var left []int32
	wanted := 0
	for _, priority := range n.pods {
		if !coversPod(parameters.Targets, priority) {
			left = append(left, priority)
			continue
		}
		wanted++
	}
	for _, d := range n.daemons {
		if d.state == running && d.covered(parameters.Targets) {
			wanted++
		}
	}
	e.Status.Progress = &lifecyclev1alpha1.Progress{Total: int32(wanted)}
	if wanted > 0 && (n.stuck || n.slow) {
		if n.stuck {
			w.refuse(e, n)
		}
		if reached(e) || apimeta.FindStatusCondition(e.Status.Conditions, lifecyclev1alpha1.ConditionTargetsReached) == nil {
			w.condition(e, lifecyclev1alpha1.ConditionTargetsReached, metav1.ConditionFalse, "Draining", "")
			return "agent: " + e.Name + map[bool]string{true: " is blocked", false: " waits for pods to end"}[n.stuck]
		}
		return ""
	}
	e.Status.Blockers, n.pods = nil, left
	n.evictDaemons(parameters.Targets)
	switch {
	case !parameters.Hold:
		e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded
		w.condition(e, lifecyclev1alpha1.ConditionFinished, metav1.ConditionTrue, lifecyclev1alpha1.ReasonSucceeded, "")
		return "agent: " + e.Name + " has succeeded"
	case !reached(e):
		w.condition(e, lifecyclev1alpha1.ConditionTargetsReached, metav1.ConditionTrue, "Reached", "")
		return fmt.Sprintf("agent: %s has evicted %d pods", e.Name, wanted)
	default:
		return ""
	}
}

func coversPod(targets []slipwayv1alpha1.DrainTarget, priority int32) bool {
	return slices.ContainsFunc(targets, func(t slipwayv1alpha1.DrainTarget) bool {
		return t.PodType == slipwayv1alpha1.PodTypeDefault && t.PodSelector == nil && (t.PodPriority == nil || priority <= *t.PodPriority)
	})
}

// putBack undoes our cordons.
func (w *world) putBack(e *lifecyclev1alpha1.LifecycleEvent, n *machine) string {
	n.failed = n.broken
	if n.broken {
		e.Status.ClaimStatus = lifecyclev1alpha1.Failed
		w.condition(e, lifecyclev1alpha1.ConditionFinished, metav1.ConditionTrue, lifecyclev1alpha1.ReasonDriverFailed, "the disk is full")
		return "agent: " + e.Name + " has failed"
	}
	for _, uid := range slices.Clone(n.cordonedFor) {
		n.release(uid)
	}
	e.Status.ClaimStatus = lifecyclev1alpha1.Succeeded
	schedulable, reason := metav1.ConditionTrue, "Returned"
	if n.node.Spec.Unschedulable {
		schedulable, reason = metav1.ConditionFalse, "CordonedByOthers"
	}
	w.condition(e, lifecyclev1alpha1.ConditionSchedulable, schedulable, reason, "")
	w.condition(e, lifecyclev1alpha1.ConditionFinished, metav1.ConditionTrue, lifecyclev1alpha1.ReasonSucceeded, "")
	return "agent: " + e.Name + " has succeeded"
}

// release undoes the cordon of an event.
func (n *machine) release(uid types.UID) {
	if !slices.Contains(n.cordonedFor, uid) {
		return
	}
	n.cordonedFor = slices.DeleteFunc(n.cordonedFor, func(u types.UID) bool { return u == uid })
	if len(n.cordonedFor) == 0 {
		n.node.Spec.Unschedulable, n.before = n.before, false
	}
}
