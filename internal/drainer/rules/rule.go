// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/klog/v2"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// rule is a DrainRule as it is read.
type rule struct {
	drain.Rule
	namespace string
	version   string
	// namespaces is nil for a rule of its own namespace alone.
	namespaces labels.Selector
	// ignored: it is as if the rule were not there.
	ignored bool
	// problem is why it cannot be understood.
	problem error
}

func toRule(logger klog.Logger, obj any, own string) *rule {
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
	r.Behavior = r.behavior(spec.Behavior)
	return r
}

// read is a selector that may mean everything if it cannot be read.
func (r *rule) read(field string, from metav1.LabelSelector) labels.Selector {
	selector, err := metav1.LabelSelectorAsSelector(&from)
	if err == nil {
		return selector
	}
	r.problem = fmt.Errorf("%w: DrainRule %s: spec.%s: %w", drain.ErrBadRule, r.Name, field, err)
	return labels.Everything()
}

func (r *rule) behavior(from slipwayv1alpha1.DrainBehavior) drain.Behavior {
	switch from {
	case slipwayv1alpha1.DrainEvict:
		return drain.Evict
	case slipwayv1alpha1.DrainSkip:
		return drain.Skip
	case slipwayv1alpha1.DrainWaitCompleted:
		return drain.WaitCompleted
	default:
		r.problem = fmt.Errorf("%w: DrainRule %s: spec.behavior: %q is not known here", drain.ErrBadRule, r.Name, from)
		return ""
	}
}

// needsLabels says whether it takes the labels of a namespace to know whether the rule
// is about it.
func (r *rule) needsLabels() bool {
	return !r.ignored && r.namespaces != nil && !r.namespaces.Empty()
}

// isAbout says whether the rule speaks for pods of the namespace.
func (r *rule) isAbout(namespace string, set labels.Set) bool {
	switch {
	case r.ignored:
		return false
	case r.namespaces != nil:
		return r.namespaces.Matches(set)
	default:
		return r.namespace == namespace
	}
}
