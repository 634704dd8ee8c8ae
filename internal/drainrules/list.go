// SPDX-License-Identifier: Apache-2.0

package drainrules

import (
	"context"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/slipway-k8s/slipway/drain"
)

// Listing is all DrainRules of a cluster at one moment.
type Listing struct {
	all []*rule
}

// List reads all DrainRules once. Where the kind is not installed, there are none.
func (r *Reader) List(ctx context.Context) (Listing, error) {
	list, err := listRules(r.rules)(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return Listing{}, nil
	}
	if err != nil {
		return Listing{}, err
	}
	var l Listing
	for i := range list.Items {
		l.all = append(l.all, toRule(logr.Discard(), &list.Items[i], r.own))
	}
	return l, nil
}

// For is what a drain would be told of a namespace with these labels. An error is a
// [drain.ErrBadRule].
func (l Listing) For(namespace string, set labels.Set) ([]drain.Rule, error) {
	s := pick(l.all, namespace, set)
	return s.rules, s.err
}
