// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"strings"
	"time"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// rounding is the error of the times in objects, which have whole seconds.
const rounding = time.Second

// judgeDeletion checks that an event requests the deletion at this time, because no budget can refuse it; and that it
// is as careful as an eviction.
func (c *checker) judgeDeletion(r auditlog.Request, p *pod) {
	if r.Verb == "deletecollection" || p == nil {
		c.violated(r, "a pod was deleted that the log does not know")
		return
	}
	options, err := optionsOf(r)
	if err != nil {
		c.violated(r, "its body cannot be read: %v", err)
		return
	}
	grace := options.GracePeriodSeconds
	if grace != nil && *grace == 0 || strings.Contains(r.URI, "gracePeriodSeconds=0") {
		c.violated(r, "a pod was deleted without a grace period: no kubelet confirms that its containers have ended")
		return
	}
	drains := c.drainsOf(p.Spec.NodeName, r)
	kills := grace != nil && *grace == 1 && !p.deleted.IsZero()
	if !permits(drains, func(began time.Time, asked Parameters) bool {
		if kills {
			return due(r, p.deleted, asked.Escalation.KillAfter)
		}
		return due(r, began, asked.Escalation.DeleteAfter)
	}) {
		what := "deleted"
		if kills {
			what = "killed"
		}
		c.violated(r, "a pod was %s, which no budget can refuse, and no event requests it at this time", what)
		return
	}
	c.judgeScope(r, p)
}

// due reports whether the time of a step of the escalation has come. Zero is never.
func due(r auditlog.Request, since time.Time, after Duration) bool {
	return after.Duration > 0 && !r.Ended.Add(rounding).Before(since.Add(after.Duration))
}
