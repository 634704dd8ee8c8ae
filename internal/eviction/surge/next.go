// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Decision is one step; or, without one, what each run waits for, and when to decide again if nothing changes
// before.
type Decision struct {
	// Step is nil when there is nothing to do now.
	Step Step
	// Wake is zero when only a change of the facts can lead to a step.
	Wake time.Time
	// Waiting is what the run of a pod waits for, by the UID of the pod.
	Waiting map[types.UID]string
}

// Step is one thing to do for one pod. Each may be done twice.
type Step interface{ isStep() }

type (
	// Release takes a pod away from its ReplicaSet, and marks it. Unready is how many of the ReplicaSet's other pods
	// are not waited for.
	Release struct {
		Pod     *corev1.Pod
		Unready int
	}
	// GiveBack lets the ReplicaSet select the pod again. The marks stay. If the pod has a run, the run has given
	// up, for the reason Why.
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

// view is a ReplicaSet with what the phases derive from its facts, and what its runs wait for.
type view struct {
	Facts
	now time.Time
	// rollout is why the Deployment does not stay as it is; empty: it does.
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
		return GiveBack{p.Pod, "nobody wants it evicted any more"}
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

// await lets a released pod go when it is replaced, and gives it back when the replacement does not become Ready.
func (v *view) await(p Pod) Step {
	switch {
	case leftToCollector(v.Facts, p.Pod):
		return Complete{p.Pod, "its Deployment is being deleted, and the pod with it"}
	case v.ReplicaSet == nil:
		return Complete{p.Pod, "its ReplicaSet is gone"}
	case v.rollout != "":
		return GiveBack{p.Pod, "the pod was given back to its ReplicaSet: " + v.rollout}
	}
	enough, at := v.replaced(p)
	until := releasedAt(p.Pod).Add(v.deadline())
	over, unready := unreadyUntil(p.Pod)
	switch {
	case enough:
		return Complete{p.Pod, "the replacement is Ready"}
	case unready && !v.now.Before(over):
		return Complete{p.Pod, "the pod is not Ready any more, so there is nothing to wait for"}
	case !v.now.Before(until):
		return GiveBack{p.Pod, fmt.Sprintf("the pod was given back to its ReplicaSet after %s: %s", v.deadline(), lacking(v.Facts))}
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
	return v.orDeadline(p, "the pod was given back before; its ReplicaSet is to take it first")
}

// orDeadline waits for something other than the pod's replacement, at most until the deadline.
func (v *view) orDeadline(p Pod, what string) Step {
	until := p.Run.Since.Add(v.deadline())
	if v.now.Before(until) {
		v.wait(p.Pod, "no replacement was started yet: "+what, until)
		return nil
	}
	return Complete{p.Pod, fmt.Sprintf("no replacement was started within %s: %s", v.deadline(), what)}
}

// wait records what a run waits for, and until when.
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
