// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"slices"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// budgetWritten takes in a new version of a budget. The disruption controller writes
// the status with what was evicted before in it.
func (c *checker) budgetWritten(r auditlog.Request) {
	k := key(r.Namespace, r.Name)
	b := c.budgets[k]
	if r.Verb == "delete" || r.Verb == "deletecollection" {
		if b != nil {
			b.gone = true
			b.versions = append(b.versions, &budgetVersion{since: r.Ended})
		}
		return
	}
	o := object[budgetVersion](r)
	if o == nil {
		return
	}
	o.since = r.Ended
	k = key(o.Metadata.Namespace, o.Metadata.Name)
	if c.budgets[k] == nil || c.budgets[k].gone {
		c.budgets[k] = &budget{}
	}
	if last := c.budgets[k].last(); last != nil && r.Subresource == "" {
		o.used = last.used // the spec was written: nothing was counted anew
	}
	c.budgets[k].versions = append(c.budgets[k].versions, o)
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

// wrote says whether the API server wrote the eviction into the budget while it worked
// on it.
func (b *budget) wrote(r auditlog.Request, p *pod) bool {
	return slices.ContainsFunc(b.versions, func(v *budgetVersion) bool { return v.accounts(r, p) })
}

// accounts says whether the version was written with the eviction in it, before that was
// answered: what it allows, it allows others.
func (v *budgetVersion) accounts(r auditlog.Request, p *pod) bool {
	_, named := v.Status.DisruptedPods[p.Metadata.Name]
	return named && v.Metadata.Namespace == p.Metadata.Namespace && !v.since.Before(r.Began) && !v.since.After(r.Ended)
}

// exempt: the server asks no budget for a pod that does not serve (yet, any more).
func exempt(p *pod) bool {
	return p.Metadata.DeletionTimestamp != "" || slices.Contains([]string{"Pending", "Succeeded", "Failed"}, p.Status.Phase)
}

// during are the versions that were in force while the request was worked on.
func (b *budget) during(r auditlog.Request) []*budgetVersion {
	var inForce []*budgetVersion
	for i, v := range b.versions {
		endedBefore := i+1 < len(b.versions) && b.versions[i+1].since.Before(r.Began)
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

// selects says whether the budget is for the pod. A selector without terms selects
// all pods of the namespace; none at all selects nothing.
func (v *budgetVersion) selects(p *pod) bool {
	if v.Spec.Selector == nil || v.Metadata.Namespace != p.Metadata.Namespace {
		return false
	}
	for k, want := range v.Spec.Selector.MatchLabels {
		if have, ok := p.Metadata.Labels[k]; !ok || have != want {
			return false
		}
	}
	for _, e := range v.Spec.Selector.MatchExpressions {
		have, ok := p.Metadata.Labels[e.Key]
		in := ok && slices.Contains(e.Values, have)
		if e.Operator == "In" && !in || e.Operator == "NotIn" && in || e.Operator == "Exists" && !ok || e.Operator == "DoesNotExist" && ok {
			return false
		}
	}
	return true
}
