// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Facts are the known facts about a ReplicaSet at one moment.
type Facts struct {
	// ReplicaSet is nil if it was deleted, or if the pod has no such owner.
	ReplicaSet *appsv1.ReplicaSet
	// Deployment controls the ReplicaSet, or did so; it may be nil.
	Deployment *appsv1.Deployment
	// Pods are controlled by the ReplicaSet, or were released from it.
	Pods []Pod
	// Services and Budgets of the namespace.
	Services []*corev1.Service
	Budgets  []*policyv1.PodDisruptionBudget
}

// Pod is a pod with the facts about its eviction.
type Pod struct {
	*corev1.Pod
	// Run is the responder's run in this process; it may be nil.
	Run *Run
	// Standing is the status of the pod's Eviction.
	Standing Standing
}

// Run is the responder's run in the Eviction of a pod.
type Run struct {
	// Since is the beginning in this process.
	Since time.Time
	// GivenUp is the reason for the return of the pod in this run; empty without a return.
	GivenUp string
}

// Standing is the status of a pod's Eviction, as far as this responder is concerned.
type Standing int

// The standings.
const (
	// NoEviction: the pod has no Eviction with this responder.
	NoEviction Standing = iota
	// Awaited: the responder runs, or will run.
	Awaited
	// LetGo: the responder has completed. The next responder can evict the pod at any moment.
	LetGo
	// Interrupted: the responder was silent for too long, and the next one runs.
	Interrupted
)

const (
	defaultDeadline = 600 * time.Second
	// maxDeadline is for Deployments without a deadline, which have one of 68 years.
	maxDeadline = time.Hour
	// clockSkew is the maximum difference of the clocks of two processes: twice the limit of the Eviction API.
	clockSkew = time.Minute
)

// deadline returns the maximum time for a replacement.
func (f Facts) deadline() time.Duration {
	if f.Deployment == nil || f.Deployment.Spec.ProgressDeadlineSeconds == nil {
		return defaultDeadline
	}
	return min(maxDeadline, time.Duration(*f.Deployment.Spec.ProgressDeadlineSeconds)*time.Second)
}

func (f Facts) replicas() int {
	if f.ReplicaSet.Spec.Replicas == nil {
		return 1
	}
	return int(*f.ReplicaSet.Spec.Replicas)
}

// controls reports whether the ReplicaSet has the pod.
func (f Facts) controls(pod *corev1.Pod) bool {
	owner := ReplicaSetOf(pod)
	return owner != nil && f.ReplicaSet != nil && owner.UID == f.ReplicaSet.UID && !isReleased(pod)
}

// Decision is one step; or the reason for which each run waits, and the time of the next decision about unchanged facts.
type Decision struct {
	// Step may be nil.
	Step Step
	// Wake is zero when only a change of the facts can lead to a step.
	Wake time.Time
	// Waiting has the reason of each waiting run, by the UID of the pod.
	Waiting map[types.UID]string
}

// Step is one step for one pod. Repeating it is harmless.
type Step interface{ isStep() }

type (
	// Release removes a pod from its ReplicaSet, and marks it. Unready is the number of the ReplicaSet's other pods that
	// need not become Ready.
	Release struct {
		Pod     *corev1.Pod
		Unready int
	}
	// GiveBack lets the ReplicaSet select the pod again. The marks stay. If the pod has a run, it ends for the reason
	// Why.
	GiveBack struct {
		Pod *corev1.Pod
		Why string
	}
	// Forget removes the marks from a pod that its ReplicaSet has adopted.
	Forget struct{ Pod *corev1.Pod }
	// Complete ends a run.
	Complete struct {
		Pod     *corev1.Pod
		Message string
	}
)

func (Release) isStep()  {}
func (GiveBack) isStep() {}
func (Forget) isStep()   {}
func (Complete) isStep() {}

// view is a ReplicaSet with the conclusions from its facts, and the reasons of its waiting runs.
type view struct {
	Facts
	now time.Time
	// rollout is the reason for a change of the Deployment's pods; empty for a stable Deployment.
	rollout string
	waiting Decision
}

// Next returns the next step for a ReplicaSet.
func Next(f Facts, now time.Time) Decision {
	v := &view{Facts: f, now: now, rollout: rollout(f)}
	for _, p := range inOrder(f.Pods) {
		var step Step
		switch {
		case p.Run == nil && Marked(p.Pod) && !isTerminating(p.Pod):
			step = v.tidy(p)
		case p.Run == nil:
		case isTerminating(p.Pod):
			step = Complete{p.Pod, "the pod is being deleted already"}
		case isReleased(p.Pod):
			step = v.await(p)
		case p.Run.GivenUp != "":
			step = Complete{p.Pod, p.Run.GivenUp}
		case isReturning(p.Pod):
			step = v.adopted(p)
		default:
			step = v.begin(p)
		}
		if step != nil {
			return Decision{Step: step}
		}
	}
	return v.waiting
}

// inOrder sorts pods without a run first: unwanted replacements end before others begin. Turns follow in the
// order in which they began.
func inOrder(pods []Pod) []Pod {
	since := func(p Pod) time.Time {
		if p.Run == nil {
			return time.Time{}
		}
		return p.Run.Since
	}
	return slices.SortedFunc(slices.Values(pods), func(a, b Pod) int {
		return cmp.Or(since(a).Compare(since(b)), releasedAt(a.Pod).Compare(releasedAt(b.Pod)), cmp.Compare(a.Name, b.Name))
	})
}

// tidy is for a marked pod without a run in this process.
func (v *view) tidy(p Pod) Step {
	switch {
	case isReturning(p.Pod) && v.controls(p.Pod):
		return Forget{p.Pod}
	case isReturning(p.Pod), v.ReplicaSet == nil, leftToCollector(v.Facts, p.Pod):
		return nil
	case p.Standing == NoEviction:
		return GiveBack{p.Pod, "no requester wants its eviction"}
	case v.rollout != "":
		return GiveBack{p.Pod, v.rollout}
	case p.Standing == Interrupted:
		if enough, _ := v.replaced(p); !enough {
			return GiveBack{p.Pod, "the responder was silent too long"}
		}
	}
	return nil
}

// begin releases a pod when its replacement can be started.
func (v *view) begin(p Pod) Step {
	if why := v.refusal(p.Pod); why != "" {
		return Complete{p.Pod, "no replacement was started: " + why}
	}
	if until, unready := unreadyUntil(p.Pod); unready {
		step := v.orDeadline(p, "the pod is not Ready")
		v.wakeAt(until)
		return step
	}
	if why := held(v.Facts); why != "" {
		return v.orDeadline(p, why)
	}
	return Release{p.Pod, v.excused()}
}

// await completes the run of a released pod after its replacement, or returns the pod if the replacement does not become
// Ready.
func (v *view) await(p Pod) Step {
	switch {
	case leftToCollector(v.Facts, p.Pod):
		return Complete{p.Pod, "its Deployment is being deleted, and the pod with it"}
	case v.ReplicaSet == nil:
		return Complete{p.Pod, "its ReplicaSet was deleted"}
	case v.rollout != "":
		return GiveBack{p.Pod, "the pod was returned to its ReplicaSet: " + v.rollout}
	}
	enough, at := v.replaced(p)
	until := releasedAt(p.Pod).Add(v.deadline())
	over, unready := unreadyUntil(p.Pod)
	switch {
	case enough:
		return Complete{p.Pod, "the replacement is Ready"}
	case unready && !v.now.Before(over):
		return Complete{p.Pod, "the pod is no longer Ready, so it needs no replacement"}
	case !v.now.Before(until):
		return GiveBack{p.Pod, fmt.Sprintf("the pod was returned to its ReplicaSet after %s: %s", v.deadline(), lacking(v.Facts))}
	}
	v.wait(p.Pod, lacking(v.Facts), until)
	v.wakeAt(at)
	if unready {
		v.wakeAt(over)
	}
	return nil
}

// adopted forgets a returning pod when its ReplicaSet has adopted it.
func (v *view) adopted(p Pod) Step {
	if v.controls(p.Pod) {
		return Forget{p.Pod}
	}
	return v.orDeadline(p, "the pod was returned before; its ReplicaSet must adopt it first")
}

// orDeadline waits for the beginning of a replacement, at most until the deadline.
func (v *view) orDeadline(p Pod, what string) Step {
	until := p.Run.Since.Add(v.deadline())
	if v.now.Before(until) {
		v.wait(p.Pod, "no replacement was started yet: "+what, until)
		return nil
	}
	return Complete{p.Pod, fmt.Sprintf("no replacement was started within %s: %s", v.deadline(), what)}
}

// wait records the reason and the end of a wait.
func (v *view) wait(pod *corev1.Pod, message string, until time.Time) {
	if v.waiting.Waiting == nil {
		v.waiting.Waiting = map[types.UID]string{}
	}
	v.waiting.Waiting[pod.UID] = message
	v.wakeAt(until)
}

func (v *view) wakeAt(at time.Time) {
	if d := &v.waiting; d.Wake.IsZero() || !at.IsZero() && at.Before(d.Wake) {
		d.Wake = at
	}
}
