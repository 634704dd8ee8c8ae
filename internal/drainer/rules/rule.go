// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
)

// rule is a DrainRule, read.
type rule struct {
	drain.Rule
	namespace string
	version   string
	// namespaces is nil for a rule that applies to its own namespace only.
	namespaces labels.Selector
	// ignored rules do not count.
	ignored bool
	// problem is the error of a rule that cannot be understood.
	problem error
}

func toRule(logger logr.Logger, obj any, own string) *rule {
	from, ok := obj.(*slipwayv1alpha1.DrainRule)
	if !ok {
		return &rule{ignored: true}
	}
	spec := from.Spec
	r := &rule{namespace: from.Namespace, version: from.ResourceVersion, Rule: drain.Rule{
		Name: from.Namespace + "/" + from.Name, Cluster: spec.NamespaceSelector != nil, Order: spec.Order,
	}}
	if r.Cluster && from.Namespace != own {
		logger.Info("Ignoring a DrainRule: spec.namespaceSelector may be set in Slipway's own namespace only",
			"rule", r.Name, "namespace", own)
		r.ignored = true
		return r
	}
	if spec.Deadline != nil {
		r.Deadline = spec.Deadline.Duration
	}
	if r.Cluster {
		r.namespaces = r.read("namespaceSelector", *spec.NamespaceSelector)
	}
	r.Pods = r.read("podSelector", spec.PodSelector)
	if spec.NodeSelector != nil {
		r.Nodes = r.read("nodeSelector", *spec.NodeSelector)
	}
	r.Behavior = r.behavior(spec.Behavior)
	return r
}

// freezeToRule returns the rule of a Freeze.
func freezeToRule(obj any) *rule {
	from, ok := obj.(*slipwayv1alpha1.Freeze)
	if !ok {
		return &rule{ignored: true}
	}
	r := &rule{version: from.ResourceVersion, namespaces: labels.Everything(), Rule: drain.Rule{
		Name: from.Name, Cluster: true, Pods: labels.Everything(), Behavior: drain.Freeze, Why: freeze.Why(from),
	}}
	selector, err := metav1.LabelSelectorAsSelector(&from.Spec.Selector)
	if err != nil {
		r.problem = fmt.Errorf("%w: Freeze %s: spec.selector: %w", drain.ErrBadRule, r.Name, err)
		return r
	}
	r.Nodes = selector
	return r
}

// read returns a selector. An invalid selector selects everything, and is a problem.
func (r *rule) read(field string, from metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(&from)
	if err == nil {
		return selector
	}
	r.problem = fmt.Errorf("%w: DrainRule %s: spec.%s: %w", drain.ErrBadRule, r.Name, field, err)
	return labels.Everything()
}

func (r *rule) behavior(from slipwayv1alpha1.DrainBehavior) drain.Behavior {
	behavior := drain.Behavior(from) // drain has the same names
	if !slices.Contains([]drain.Behavior{drain.Evict, drain.Skip, drain.WaitCompleted}, behavior) {
		r.problem = fmt.Errorf("%w: DrainRule %s: spec.behavior: %q is not known here", drain.ErrBadRule, r.Name, from)
	}
	return behavior
}

// needsLabels reports whether the labels of a namespace decide whether the rule applies there.
func (r *rule) needsLabels() bool {
	return !r.ignored && r.namespaces != nil && !r.namespaces.Empty()
}

// applies reports whether the rule applies to pods of a namespace with these labels.
func (r *rule) applies(namespace string, set labels.Set) bool {
	switch {
	case r.ignored:
		return false
	case r.namespaces != nil:
		return r.namespaces.Matches(set)
	default:
		return r.namespace == namespace
	}
}

// answer is a report of a Follow. Two answers with the same key are equal.
type answer struct {
	rules []drain.Rule
	err   error
	key   string
}

func failed(err error) *answer { return &answer{err: err, key: "failed: " + err.Error()} }

// pick returns the rules that apply to a namespace with these labels.
func pick(all []*rule, namespace string, set labels.Set) *answer {
	all = slices.SortedFunc(slices.Values(all), func(a, b *rule) int { return cmp.Compare(a.Name, b.Name) })
	picked := &answer{}
	for _, r := range all {
		if !r.applies(namespace, set) {
			continue
		}
		if r.problem != nil {
			return failed(r.problem)
		}
		picked.rules = append(picked.rules, r.Rule)
		picked.key += r.Name + "@" + r.version + "\n"
	}
	return picked
}

// Listing is all DrainRules of a cluster at one moment.
type Listing struct {
	all []*rule
}

// Listed returns the Listing of these DrainRules. The rules of the cluster are in ownNamespace.
func Listed(items []slipwayv1alpha1.DrainRule, ownNamespace string) Listing {
	var l Listing
	for i := range items {
		l.all = append(l.all, toRule(logr.Discard(), &items[i], ownNamespace))
	}
	return l
}

// For returns the rules of a drain for a namespace with these labels. An error is a
// [drain.ErrBadRule].
func (l Listing) For(namespace string, set labels.Set) ([]drain.Rule, error) {
	picked := pick(l.all, namespace, set)
	return picked.rules, picked.err
}
