// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// budgetVersion is a budget as it was written at some time.
type budgetVersion struct {
	thing
	Spec struct {
		Selector                   *metav1.LabelSelector `json:"selector"`
		UnhealthyPodEvictionPolicy string                `json:"unhealthyPodEvictionPolicy"`
	} `json:"spec"`
	Status struct {
		DisruptionsAllowed int `json:"disruptionsAllowed"`
		CurrentHealthy     int `json:"currentHealthy"`
		DesiredHealthy     int `json:"desiredHealthy"`
		// DisruptedPods are pods whose evictions the other numbers include already.
		DisruptedPods map[string]string `json:"disruptedPods"`
	} `json:"status"`

	since, answered time.Time // it was written between the two
	used            int       // evictions accepted under it
}

// budget is all versions of a budget, in order.
type budget struct {
	versions []*budgetVersion
	gone     bool
}

// budgetDeleted records the deletion of a budget, or of all budgets of a namespace.
func (c *checker) budgetDeleted(r auditlog.Request) {
	for k, b := range c.budgets {
		of := b.last().Metadata
		if !b.gone && (k == key(r.Namespace, r.Name) || r.Verb == "deletecollection" && of.Namespace == r.Namespace) {
			b.gone = true
			b.versions = append(b.versions, &budgetVersion{since: r.Began, answered: r.Ended})
		}
	}
}

// budgetWritten records a new version of a budget. The disruption controller writes the status with all earlier
// evictions in it.
func (c *checker) budgetWritten(r auditlog.Request) {
	o := object[budgetVersion](r)
	if o == nil {
		return
	}
	o.since, o.answered = r.Began, r.Ended
	k := key(o.Metadata.Namespace, o.Metadata.Name)
	if b := c.budgets[k]; b != nil && b.gone && !r.Began.After(b.last().answered) && b.had(o) {
		return // written before the deletion was complete
	}
	if c.budgets[k] == nil || c.budgets[k].gone {
		c.budgets[k] = &budget{}
	}
	b := c.budgets[k]
	last := b.last()
	if last != nil && o.olderThan(&last.thing) {
		return
	}
	if last != nil && r.Subresource == "" {
		o.used = last.used // the spec was written, without a new count
	}
	b.versions = append(b.versions, o)
}

// had reports whether it is a version of the same budget, not of another of its name.
func (b *budget) had(o *budgetVersion) bool {
	return slices.ContainsFunc(b.versions, func(v *budgetVersion) bool {
		return v.Metadata.UID != "" && v.Metadata.UID == o.Metadata.UID
	})
}

func (b *budget) last() *budgetVersion {
	if len(b.versions) == 0 {
		return nil
	}
	return b.versions[len(b.versions)-1]
}

// judgeBudget: some version of the budget that was in force while the server worked
// on the eviction allowed it.
func (c *checker) judgeBudget(r auditlog.Request, p *pod) {
	if exempt(p) {
		return
	}
	for name, b := range c.budgets {
		versions := b.during(r)
		if len(versions) == 0 || !slices.ContainsFunc(versions, func(v *budgetVersion) bool { return v.selects(p) }) {
			continue
		}
		if !slices.ContainsFunc(versions, func(v *budgetVersion) bool { return !v.accounts(r, p) && v.allows(p) }) {
			last := versions[len(versions)-1]
			c.violated(r, "accepted while budget %s allowed %d disruptions, of which %d were used",
				name, last.Status.DisruptionsAllowed, last.used)
		}
	}
	c.useBudget(r, p)
}

// useBudget counts an eviction that was accepted. The API server writes it into the
// budget before it answers: where the log has that, the versions since then tell, and the
// controller may have built upon it before the answer.
func (c *checker) useBudget(r auditlog.Request, p *pod) {
	if exempt(p) {
		return
	}
	for _, b := range c.budgets {
		if b.wrote(r, p) {
			continue
		}
		if v := b.last(); v != nil && !b.gone && v.selects(p) && !v.toleratesUnready(p) {
			v.used++
		}
	}
}

// wrote reports whether the API server wrote the eviction into the budget while it worked
// on it.
func (b *budget) wrote(r auditlog.Request, p *pod) bool {
	return slices.ContainsFunc(b.versions, func(v *budgetVersion) bool { return v.accounts(r, p) })
}

// accounts reports whether the version was written with the eviction in it, before that was
// answered: what it allows, it allows others.
func (v *budgetVersion) accounts(r auditlog.Request, p *pod) bool {
	_, named := v.Status.DisruptedPods[p.Metadata.Name]
	return named && v.Metadata.Namespace == p.Metadata.Namespace && !v.since.Before(r.Began) && !v.since.After(r.Ended)
}

// exempt: the server asks no budget for a pod that does not serve (yet, any longer).
func exempt(p *pod) bool {
	return p.Metadata.DeletionTimestamp != "" || slices.Contains([]string{"Pending", "Succeeded", "Failed"}, p.Status.Phase)
}

// during returns the versions that were in force while the server worked on the request.
func (b *budget) during(r auditlog.Request) []*budgetVersion {
	var inForce []*budgetVersion
	for i, v := range b.versions {
		endedBefore := i+1 < len(b.versions) && b.versions[i+1].answered.Before(r.Began)
		if !endedBefore && !v.since.After(r.Ended) {
			inForce = append(inForce, v)
		}
	}
	return inForce
}

func (v *budgetVersion) allows(p *pod) bool {
	return !v.selects(p) || v.toleratesUnready(p) || v.Status.DisruptionsAllowed > v.used
}

func (v *budgetVersion) toleratesUnready(p *pod) bool {
	return !p.ready() && (v.Spec.UnhealthyPodEvictionPolicy == "AlwaysAllow" ||
		v.Status.DesiredHealthy > 0 && v.Status.CurrentHealthy >= v.Status.DesiredHealthy)
}

// selects reports whether the budget is for the pod. Without a selector it is for none.
func (v *budgetVersion) selects(p *pod) bool {
	return v.Spec.Selector != nil && v.Metadata.Namespace == p.Metadata.Namespace && selects(v.Spec.Selector, p.Metadata.Labels)
}
