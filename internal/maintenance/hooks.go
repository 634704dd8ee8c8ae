// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"strings"
	"time"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// hooksOpen says whether nothing of a maintenance's holds the node up at a point that it
// has reached at the given time. Otherwise it says where the node is, or that it has failed.
func (p *pass) hooksOpen(n *node, m *maintained, point slipwayv1alpha1.HookPoint, since time.Time) bool {
	var waiting []string
	for _, hook := range m.Spec.Hooks {
		if hook.At != point {
			continue
		}
		switch late := p.late(n, hook, since); {
		case n.drain.Annotations[slipwayv1alpha1.HookAnnotationPrefix+hook.Name] == slipwayv1alpha1.HookOpen:
		case late && hook.OnTimeout == slipwayv1alpha1.HookProceeds:
		case late:
			p.fail(n, m, reasoned{
				slipwayv1alpha1.ReasonHookTimeout,
				fmt.Sprintf("spec.hooks[%s]: nobody opened it within %s", hook.Name, hook.Timeout.Duration),
			})
			return false
		default:
			waiting = append(waiting, hook.Name)
		}
	}
	if len(waiting) == 0 {
		return true
	}
	p.at(n, m.UID, slipwayv1alpha1.NodeHeld, reasoned{
		slipwayv1alpha1.ReasonHookWaiting,
		fmt.Sprintf("%s: waiting for hook %s (annotation %s%s of LifecycleEvent %s)", point, strings.Join(waiting, ", "),
			slipwayv1alpha1.HookAnnotationPrefix, waiting[0], n.drain.Name),
	}, since)
	return false
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
