// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/labels"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// Listing is all DrainRules of a cluster at one moment.
type Listing struct {
	all []*rule
}

// Listed are these DrainRules. Those of the cluster are in ownNamespace.
func Listed(items []slipwayv1alpha1.DrainRule, ownNamespace string) Listing {
	var l Listing
	for i := range items {
		l.all = append(l.all, toRule(logr.Discard(), &items[i], ownNamespace))
	}
	return l
}

// For is what a drain would be told of a namespace with these labels. An error is a
// [drain.ErrBadRule].
func (l Listing) For(namespace string, set labels.Set) ([]drain.Rule, error) {
	s := pick(l.all, namespace, set)
	return s.rules, s.err
}
