// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/slipway-k8s/slipway/test/auditlog"
)

// behaviorLabel is the label by which a pod chooses its behavior.
const behaviorLabel = "cluster.x-k8s.io/drain"

// rule is a DrainRule.
type rule struct {
	thing
	Spec struct {
		PodSelector       metav1.LabelSelector  `json:"podSelector"`
		NamespaceSelector *metav1.LabelSelector `json:"namespaceSelector"`
		NodeSelector      *metav1.LabelSelector `json:"nodeSelector"`
		Behavior          string                `json:"behavior"`
	} `json:"spec"`

	since time.Time // when it was certainly in force
}

// ruleWritten takes in a rule.
func (c *checker) ruleWritten(r auditlog.Request) {
	switch r.Verb {
	case "deletecollection":
		for k, known := range c.rules {
			if known.Metadata.Namespace == r.Namespace {
				delete(c.rules, k)
			}
		}
		return
	case "delete":
		delete(c.rules, key(r.Namespace, r.Name))
		return
	}
	o := object[rule](r)
	if o == nil {
		return
	}
	k := key(o.Metadata.Namespace, o.Metadata.Name)
	if known := c.rules[k]; known != nil && o.olderThan(&known.thing) {
		return
	}
	o.since = r.Ended
	c.rules[k] = o
}

// judgeRules checks that a pod stays if a rule of its namespace skips it. A drain that began after the rule has read
// it; a drain in progress needs a moment to see it. Cluster-wide rules and rules for some nodes are not checked: the
// log does not show the labels of namespaces and nodes. A pod whose label chooses its behavior follows no rule.
func (c *checker) judgeRules(r auditlog.Request, p *pod, drains []ongoing) {
	counts := c.ruleFor(p)
	if counts == nil || counts.Spec.Behavior != "Skip" || counts.Spec.NodeSelector != nil || p.Metadata.Labels[behaviorLabel] != "" {
		return
	}
	if slices.ContainsFunc(drains, func(d ongoing) bool {
		return counts.since.After(d.began) && counts.since.After(r.Began.Add(-hearsay))
	}) {
		return
	}
	c.violated(r, "evicted a pod that rule %s skips", key(counts.Metadata.Namespace, counts.Metadata.Name))
}

// ruleFor is the rule of the pod's namespace that counts: the first by name.
func (c *checker) ruleFor(p *pod) *rule {
	var first *rule
	for _, o := range c.rules {
		if o.Metadata.Namespace != p.Metadata.Namespace || o.Spec.NamespaceSelector != nil || !selects(&o.Spec.PodSelector, p.Metadata.Labels) {
			continue
		}
		if first == nil || o.Metadata.Name < first.Metadata.Name {
			first = o
		}
	}
	return first
}
