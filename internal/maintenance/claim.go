// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
	"github.com/slipway-k8s/slipway/internal/reasons"
	"github.com/slipway-k8s/slipway/nodelease"
)

// claim is the need of a maintenance for a node that is out of service for it.
type claim struct {
	Ref
	m      *maintenance // nil: it was deleted
	job    *batchv1.Job // nil: it has no Job
	record *Record      // nil: the maintenance has not completed its part on the node
	// drained: the node has reached the last step of the maintenance's plan, or had when its work began. The
	// drain also evicts later pods, which stop no work.
	drained bool
	want    want
	// late is a hook BeforeReturn that was not opened in time, in stage Complete.
	late *slipwayv1alpha1.MaintenanceHook
}

// want is the need of a maintenance for a node.
type want int

const (
	leaves want = iota // it needs the node no longer, without having done its work
	done               // it has done its work
	needs              // it needs the node, or the node has failed
)

func (s *selection) claimOf(n *node, ref Ref) claim {
	c := claim{Ref: ref, m: s.byUID[ref.UID], job: s.jobs[JobName(n.name, ref.UID, ref.Retry)]}
	if c.m != nil {
		c.record = n.recordOf(c.m)
	}
	if n.drain == nil {
		return c
	}
	if c.m != nil {
		c.drained = c.worked() || claimed(n.drain) && drainplan.Drained(c.m.plan, n.inPlan())
	}
	if n.back == nil {
		c.want, c.late = s.wantOf(n, c)
	}
	return c
}

// running reports whether the Job of the maintenance has not ended.
func (c claim) running() bool { return c.job != nil && finishedAs(c.job) == nil }

// worked reports whether the work has begun, or has been done.
func (c claim) worked() bool { return !c.Worked.IsZero() || c.Begun || c.job != nil }

// selects reports whether the maintenance works, and selects the node.
func (c claim) selects(n *node) bool { return c.m.works() && c.m.selects(n) }

func (s *selection) wantOf(n *node, c claim) (want, *slipwayv1alpha1.MaintenanceHook) {
	var hooks hookState
	if c.completes(n) {
		hooks = s.hooksOf(n, c.m, slipwayv1alpha1.BeforeReturn, s.completedSince(c.m))
	}
	switch {
	case c.running(): // a node must not return in the middle of a reboot
		return needs, hooks.late
	case c.m == nil:
		return leaves, nil
	case !c.selects(n):
		if len(hooks.waiting) > 0 {
			return needs, hooks.late
		}
		return leaves, hooks.late
	case s.yields(n, c.Ref), s.waitsAgain(n, c.m):
		return leaves, nil
	case c.record != nil && c.record.State != RecordFailed:
		return done, nil
	case c.record == nil && s.cancels(c.m) && !c.drained:
		return leaves, nil
	default:
		return needs, nil
	}
}

// completes reports whether the node is drained and waits for hooks BeforeReturn of a maintenance without
// a rollout in stage Complete. A deleted maintenance waits for no hooks.
func (c claim) completes(n *node) bool {
	return c.m != nil && c.m.Spec.Rollout == nil && c.m.DeletionTimestamp == nil && c.m.Spec.Stage == slipwayv1alpha1.StageComplete &&
		c.m.selects(n) && c.record == nil && c.drained
}

// needed reports whether a maintenance needs the node out of service. A node that has failed for all of
// its maintenances before its drain cordoned it returns.
func (s *selection) needed(n *node) bool {
	if len(s.begins[n.name]) > 0 {
		return true
	}
	return slices.ContainsFunc(s.claims[n.name], func(c claim) bool {
		if c.want != needs {
			return c.staysPaused(n)
		}
		return c.m == nil || c.record == nil || !pending(n.drain)
	})
}

// staysPaused reports whether spec.paused keeps a node from its return.
func (c claim) staysPaused(n *node) bool {
	return c.m != nil && c.m.Spec.Paused && !c.m.returns() && !pending(n.drain)
}

// waitsAgain reports whether a node waits again, for a maintenance that has already created the event of
// its drain. No agent has claimed that event, so the node is not cordoned: the event waits for a hook, a
// lease, a guard or its agent. If the maintenance may not begin nodes any longer, the node must not leave
// service at any later time; and if the node waits for a lease, another one may begin in its place. This
// controller deletes the event if no other maintenance uses it. While the maintenance is paused, an event
// that waits only for its hooks stays, with their answers.
func (s *selection) waitsAgain(n *node, m *maintenance) bool {
	switch {
	case !n.untouched():
		return false
	case s.outsideWindow(m).reason != "", !gated(n.drain) && s.leavesTurn(n, m):
		return true
	default:
		forOthers := len(n.refs) > 1 && !m.hasHooks(slipwayv1alpha1.BeforeDrain)
		return m.Spec.Paused && (!gated(n.drain) || forOthers)
	}
}

// hookState has the hooks of a maintenance that hold a node at a point, and a hook that was not opened in
// time.
type hookState struct {
	waiting []string
	late    *slipwayv1alpha1.MaintenanceHook
}

// hooksOf returns the state of the hooks of a point that the node reached at the given time.
func (v *view) hooksOf(n *node, m *maintenance, point slipwayv1alpha1.HookPoint, since time.Time) (s hookState) {
	for i := range m.Spec.Hooks {
		hook := &m.Spec.Hooks[i]
		answer := n.drain.Annotations[slipwayv1alpha1.HookAnnotationPrefix+hook.Name]
		if hook.At != point || answer == slipwayv1alpha1.HookOpen {
			continue
		}
		// Any other answer is Hold: it has no time limit.
		late := hook.Timeout != nil && answer == "" && v.alarm.passed(since.Add(hook.Timeout.Duration))
		switch {
		case late && hook.OnTimeout == slipwayv1alpha1.HookProceeds:
		case late:
			s.late = hook
		default:
			s.waiting = append(s.waiting, hook.Name)
		}
	}
	return s
}

// A user that holds a node may work on its machine, and so may another tool that has its lease: no work begins there.

// If Slipway takes the leases of nodes, it works on a node only under its lease. It loses the lease if no
// controller renews it, or if a third party breaks it. Then no work begins on the node, its targets do not
// rise, its drain does not cordon it again, this controller does not cancel its drain, and the node does not
// return, until Slipway has the lease again. Package lease takes the lease while the node is out of service.
// Running evictions and Jobs continue.

// holder returns the current holder of the lease of a node, Slipway or another tool.
func (v *view) holder(n *node) (held nodelease.Held, is bool) {
	held = n.Lease
	return held, v.facts.Leases && held.Holder != "" && (held.Until.IsZero() || !v.alarm.now.After(held.FreeAfter()))
}

// barred returns the reason for which Slipway must not work on a node; none, if no user holds the node, and Slipway
// has the lease or needs none.
func (v *view) barred(n *node) cause {
	held, is := v.holder(n)
	switch {
	case n.HeldBy != "":
		return n.heldByUser()
	case !v.facts.Leases || !n.exists():
		return cause{}
	case is && held.Holder != nodelease.Slipway:
		return cause{lifecyclev1alpha1.ReasonLeaseLost, leasedTo(held)}
	case is && (held.Until.IsZero() || held.Valid(v.alarm.now.Add(nodelease.Skew))), !n.underLease():
		return cause{}
	}
	if is { // the watch may not show a renewal at the last moment
		v.alarm.passed(held.FreeAfter().Add(time.Millisecond))
	}
	return cause{lifecyclev1alpha1.ReasonLeaseLost, "Slipway has lost the lease of the node, and takes it again before it continues"}
}

// heldByUser returns the cause of a node that users hold.
func (n *node) heldByUser() cause {
	return cause{lifecyclev1alpha1.ReasonHeldByAnother, "the node is held by " + n.HeldBy}
}

// heldByOthers returns the users that hold a node that waits, or the lease of another tool.
func (v *view) heldByOthers(n *node) cause {
	if n.HeldBy != "" {
		return n.heldByUser()
	}
	held, is := v.holder(n)
	if !is || held.Holder == nodelease.Slipway {
		return cause{}
	}
	return cause{lifecyclev1alpha1.ReasonHeldByAnother, leasedTo(held)}
}

// waitsForOthers returns the same, and makes the next decision due when the lease expires.
func (v *view) waitsForOthers(n *node) cause {
	why := v.heldByOthers(n)
	if free := n.Lease.FreeAfter(); why.reason != "" && !free.IsZero() {
		v.alarm.passed(free.Add(time.Millisecond))
	}
	return why
}

// underLease reports whether Slipway has or takes the lease of a node that it has out of service.
func (n *node) underLease() bool {
	return n.drain != nil && claimed(n.drain) || n.Spec.Unschedulable && len(n.CordonedFor) > 0
}

// maxPurpose limits a purpose in a message, in bytes.
const maxPurpose = 256

func leasedTo(held nodelease.Held) string {
	text := fmt.Sprintf("the node is leased to %q", held.Holder)
	if held.Purpose != "" {
		text += fmt.Sprintf(" for %q", reasons.Shorten(held.Purpose, maxPurpose))
	}
	return text
}
