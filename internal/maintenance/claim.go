// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance/drainplan"
)

// claim is what a maintenance wants of a node that is out for it.
type claim struct {
	Ref
	m      *maintenance // nil: it was deleted
	job    *batchv1.Job // nil: there is none
	record *Record      // nil: the maintenance is not done with the node
	// drained: the node is drained as far as the maintenance wants, or was when its work began:
	// pods that come later are evicted, too, but stop nothing.
	drained bool
	want    want
	// late is a hook BeforeReturn that was not opened in time, in stage Complete.
	late *slipwayv1alpha1.MaintenanceHook
}

// want says whether a maintenance still needs the node out.
type want int

const (
	leaves want = iota // it does not, though its work is not done
	done               // it does not: its work is done
	needs              // it does; also if the node has failed
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

// running reports whether the Job of the maintenance is still at work.
func (c claim) running() bool { return c.job != nil && finishedAs(c.job) == nil }

// worked reports whether the work has begun, or was done.
func (c claim) worked() bool { return !c.Worked.IsZero() || c.Begun || c.job != nil }

// selects reports whether nodes may be out for the maintenance, and this is one of its nodes.
func (c claim) selects(n *node) bool { return c.m.works() && c.m.selects(n) }

func (s *selection) wantOf(n *node, c claim) (want, *slipwayv1alpha1.MaintenanceHook) {
	var hooks hookState
	if c.completes(n) {
		hooks = s.hooksOf(n, c.m, slipwayv1alpha1.BeforeReturn, s.completedSince(c.m))
	}
	switch {
	case c.running(): // whatever else: nobody returns a node in the middle of a reboot
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

// completes reports whether the node is drained and asks the hooks BeforeReturn of a maintenance
// without a rollout in stage Complete. A maintenance that is being deleted asks none.
func (c claim) completes(n *node) bool {
	return c.m != nil && c.m.Spec.Rollout == nil && c.m.DeletionTimestamp == nil && c.m.Spec.Stage == slipwayv1alpha1.StageComplete &&
		c.m.selects(n) && c.record == nil && c.drained
}

// needed reports whether a maintenance needs the node out. A node that has failed for all of them
// before it was cordoned is not.
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

// staysPaused reports whether a node that is out does not go back because of spec.paused.
func (c claim) staysPaused(n *node) bool {
	return c.m != nil && c.m.Spec.Paused && !c.m.returns() && !pending(n.drain)
}

// waitsAgain reports whether a node that is about to begin does not, for a maintenance. The drain
// of such a node is not claimed yet, so it is not cordoned: its event waits for a hook, a lease,
// a guard or its agent. If the maintenance may not begin nodes any more, the node waits for its
// turn again, instead of being taken out whenever it can be; likewise if it waits for a lease
// while others could begin. The event is deleted when no other maintenance wants it. While the
// maintenance is paused, an event that only its own hooks hold stays, with their answers.
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

// hookState says which hooks of a maintenance hold a node up at a point, and which one was not
// opened in time.
type hookState struct {
	waiting []string
	late    *slipwayv1alpha1.MaintenanceHook
}

// hooksOf returns the state of the hooks of a point that the node has reached at the given time.
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
