// SPDX-License-Identifier: Apache-2.0

// Package survey reads the facts of explain, plan and forecast, with the caller's permissions.
//
//	API server ── bounded requests, as whoever calls ──▶ Facts, and what could not be read
//
// A right that is missing is no failure: the facts say what is not in them, and why. It
// writes nothing, decides nothing and keeps nothing.
package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
)

// NoSuchNodeError says that there is no Node of that name.
type NoSuchNodeError struct{ Name string }

func (e NoSuchNodeError) Error() string {
	return fmt.Sprintf("there is no node %q; 'kubectl get nodes' lists them", e.Name)
}

// Reader reads facts through a client.
type Reader struct{ Client client.Reader }

// notes collects what could not be read.
type notes struct {
	unread []explain.Unread
	// answered: the server has said something, be it that it may not be read.
	answered bool
}

// note takes in how reading something went, and tells whether it was read. What is not
// there was read.
func (n *notes) note(kind explain.Kind, err error) (read bool) {
	status := apierrors.APIStatus(nil)
	n.answered = n.answered || err == nil || errors.As(err, &status)
	if client.IgnoreNotFound(err) == nil {
		return err == nil
	}
	if n.lacks(kind) {
		return false // once is enough
	}
	n.unread = append(n.unread, explain.Unread{Kind: kind, Why: why(err)})
	return false
}

// lacks tells whether something of the kind could not be read.
func (n *notes) lacks(kind explain.Kind) bool {
	return slices.ContainsFunc(n.unread, func(u explain.Unread) bool { return u.Kind == kind })
}

func why(err error) string {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// list reads a list, and notes if that cannot be.
func (r Reader) list(ctx context.Context, n *notes, kind explain.Kind, into client.ObjectList, options ...client.ListOption) bool {
	return n.note(kind, r.Client.List(ctx, into, options...))
}

// own is the namespace of Slipway: that of the account which has the controller's rights.
// Pods do not tell it, because anybody can give theirs any labels. Where nobody has these
// rights, or it may not be read who has, it is the one of the plain manifests.
func (r Reader) own(ctx context.Context) (string, error) {
	var binding rbacv1.ClusterRoleBinding
	err := r.Client.Get(ctx, client.ObjectKey{Name: controllerName}, &binding)
	for _, s := range binding.Subjects {
		if err == nil && s.Kind == rbacv1.ServiceAccountKind && s.Namespace != "" {
			return s.Namespace, nil
		}
	}
	return defaultNamespace, client.IgnoreNotFound(err)
}

// perPage is the page size of kubectl.
const perPage = 500

// each reads a list page by page, so that no answer of a large cluster is too large, and
// takes each object. T is the type of the list.
func each[T any, L interface {
	*T
	client.ObjectList
}, O client.Object](ctx context.Context, reader client.Reader, take func(O), options ...client.ListOption) error {
	for next := ""; ; {
		page := L(new(T)) // the decoder would mix the items of two pages in one list
		if err := reader.List(ctx, page, append([]client.ListOption{client.Limit(perPage), client.Continue(next)}, options...)...); err != nil {
			return err
		}
		_ = apimeta.EachListItem(page, func(object runtime.Object) error { // take does not fail
			take(object.(O))
			return nil
		})
		if next = page.GetContinue(); next == "" {
			return nil
		}
	}
}
