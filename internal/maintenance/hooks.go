// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"slices"
	"strings"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// hookState is which hooks of a maintenance hold the node up at a point that it has reached
// at the given time, and which one was not opened in time.
func (p *pass) hookState(n *node, m *maintained, point slipwayv1alpha1.HookPoint, since time.Time) (waiting []string, failed *slipwayv1alpha1.MaintenanceHook) {
	for i := range m.Spec.Hooks {
		hook := &m.Spec.Hooks[i]
		if hook.At != point || n.drain.Annotations[slipwayv1alpha1.HookAnnotationPrefix+hook.Name] == slipwayv1alpha1.HookOpen {
			continue
		}
		switch late := p.late(n, *hook, since); {
		case late && hook.OnTimeout == slipwayv1alpha1.HookProceeds:
		case late:
			failed = hook
		default:
			waiting = append(waiting, hook.Name)
		}
	}
	return waiting, failed
}

// hooksOpen says whether nothing of a maintenance's holds the node up at a point. Otherwise
// it says where the node is, or that it has failed.
func (p *pass) hooksOpen(n *node, m *maintained, point slipwayv1alpha1.HookPoint, since time.Time) bool {
	waiting, failed := p.hookState(n, m, point, since)
	switch {
	case failed != nil:
		p.fail(n, m, notOpened(failed))
		return false
	case len(waiting) == 0:
		return true
	}
	p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{
		slipwayv1alpha1.ReasonHookWaiting,
		fmt.Sprintf("%s: waiting for hook %s (annotation %s%s of LifecycleEvent %s)", point, strings.Join(waiting, ", "),
			slipwayv1alpha1.HookAnnotationPrefix, waiting[0], n.drain.Name),
	}, since)
	return false
}

func notOpened(hook *slipwayv1alpha1.MaintenanceHook) reasoned {
	return reasoned{
		slipwayv1alpha1.ReasonHookTimeout,
		fmt.Sprintf("spec.hooks[%s]: nobody opened it within %s", hook.Name, hook.Timeout.Duration),
	}
}

// completing says whether a node that is drained is held up on its way back, by the hooks of
// a maintenance without a rollout in stage Complete. One that is deleted asks nobody.
func (p *pass) completing(n *node, m *maintained, entry For) (held bool, failed *slipwayv1alpha1.MaintenanceHook) {
	if m.Spec.Rollout != nil || m.DeletionTimestamp != nil || m.Spec.Stage != slipwayv1alpha1.StageComplete || !m.selects(n) ||
		n.recordOf(m) != nil || !p.drainedFor(n, m, entry) {
		return false, nil
	}
	waiting, failed := p.hookState(n, m, slipwayv1alpha1.BeforeReturn, p.completedSince(m))
	return len(waiting) > 0, failed
}

// completedSince is since when the maintenance is in stage Complete; now, if nobody has
// noted it yet.
func (p *pass) completedSince(m *maintained) time.Time {
	if at := m.began(slipwayv1alpha1.StageComplete); !at.IsZero() {
		return at
	}
	return p.second().Time
}

// hooked says whether a hook is asked before the node is touched.
func (p *pass) hooked(n *node) bool {
	return slices.ContainsFunc(n.begin, func(entry For) bool { return p.byUID[entry.UID].asksAt(slipwayv1alpha1.BeforeDrain) })
}

// asksAt says whether there are hooks at a point.
func (m *maintained) asksAt(point slipwayv1alpha1.HookPoint) bool {
	return slices.ContainsFunc(m.Spec.Hooks, func(hook slipwayv1alpha1.MaintenanceHook) bool { return hook.At == point })
}

// late says whether a hook was not opened in time. One that is on Hold has all the time.
func (p *pass) late(n *node, hook slipwayv1alpha1.MaintenanceHook, since time.Time) bool {
	if hook.Timeout == nil || n.drain.Annotations[slipwayv1alpha1.HookAnnotationPrefix+hook.Name] != "" {
		return false
	}
	at := since.Add(hook.Timeout.Duration)
	p.wakeAt(at)
	return !p.now.Before(at)
}
