// SPDX-License-Identifier: Apache-2.0

package surge

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Next is the next step for a ReplicaSet.
func Next(f Facts, now time.Time) Decision {
	var d Decision
	for _, p := range inOrder(f.Pods) {
		switch {
		case p.Turn != nil:
			d.Step = take(f, p, now, &d)
		case Marked(p.Pod) && !isTerminating(p.Pod):
			d.Step = tidy(f, p, now)
		}
		if d.Step != nil {
			return Decision{Step: d.Step}
		}
	}
	return d
}

// inOrder are the pods, those without a turn first: what nobody wants any more is given
// back before anything begins. Of the others, those that came first are first.
func inOrder(pods []Pod) []Pod {
	since := func(p Pod) time.Time {
		if p.Turn == nil {
			return time.Time{}
		}
		return p.Turn.Since
	}
	return slices.SortedFunc(slices.Values(pods), func(a, b Pod) int {
		return cmp.Or(since(a).Compare(since(b)), releasedAt(a.Pod).Compare(releasedAt(b.Pod)), cmp.Compare(a.Name, b.Name))
	})
}

// take takes a turn one step further.
func take(f Facts, p Pod, now time.Time, d *Decision) Step {
	switch {
	case isTerminating(p.Pod):
		return Complete{p.Pod, "the pod is being deleted already"}
	case isReleased(p.Pod):
		return await(f, p, now, d)
	case p.Turn.GivenUp != "":
		return Complete{p.Pod, p.Turn.GivenUp}
	case isReturning(p.Pod):
		if f.controls(p.Pod) {
			return Forget{p.Pod}
		}
		return orDeadline(f, p, now, d, "the pod was given back before; its ReplicaSet is to take it first")
	}
	if why := refusal(f, p.Pod, now); why != "" {
		return Complete{p.Pod, "no replacement was started: " + why}
	}
	if until, unready := unreadyUntil(p.Pod); unready {
		step := orDeadline(f, p, now, d, "the pod is not Ready")
		d.wakeAt(until)
		return step
	}
	if why := held(f); why != "" {
		return orDeadline(f, p, now, d, why)
	}
	return Release{p.Pod, f.excused()}
}

// orDeadline waits for something else than a replacement of the pod's own, but not for
// ever.
func orDeadline(f Facts, p Pod, now time.Time, d *Decision, what string) Step {
	until := p.Turn.Since.Add(f.deadline())
	if now.Before(until) {
		d.wait(p.Pod, "no replacement was started yet: "+what, until)
		return nil
	}
	return Complete{p.Pod, fmt.Sprintf("no replacement was started within %s: %s", f.deadline(), what)}
}

// await lets a released pod go when it is replaced, and gives it back when that does not
// come about.
func await(f Facts, p Pod, now time.Time, d *Decision) Step {
	switch {
	case leftToCollector(f, p.Pod):
		return Complete{p.Pod, "its Deployment is being deleted, and the pod with it"}
	case f.ReplicaSet == nil:
		return Complete{p.Pod, "its ReplicaSet is gone"}
	}
	if why := rollout(f); why != "" {
		return GiveBack{p.Pod, "the pod was given back to its ReplicaSet: " + why}
	}
	enough, at := replaced(f, p, now)
	until := releasedAt(p.Pod).Add(f.deadline())
	over, unready := unreadyUntil(p.Pod)
	switch {
	case enough:
		return Complete{p.Pod, "the replacement is Ready"}
	case unready && !now.Before(over):
		return Complete{p.Pod, "the pod is not Ready any more, so there is nothing to wait for"}
	case !now.Before(until):
		return GiveBack{p.Pod, fmt.Sprintf("the pod was given back to its ReplicaSet after %s: %s", f.deadline(), lacking(f))}
	}
	d.wait(p.Pod, lacking(f), until)
	d.wakeAt(at)
	if unready {
		d.wakeAt(over)
	}
	return nil
}

// tidy is for a pod with our marks that is nobody's turn here.
func tidy(f Facts, p Pod, now time.Time) Step {
	switch {
	case isReturning(p.Pod) && f.controls(p.Pod):
		return Forget{p.Pod}
	case isReturning(p.Pod), f.ReplicaSet == nil, leftToCollector(f, p.Pod):
		return nil
	case p.Standing == NoEviction:
		return GiveBack{p.Pod, "nobody wants it evicted any more"}
	}
	if why := rollout(f); why != "" {
		return GiveBack{p.Pod, why}
	}
	if p.Standing == Interrupted {
		if enough, _ := replaced(f, p, now); !enough {
			return GiveBack{p.Pod, "the responder was silent too long"}
		}
	}
	return nil
}
