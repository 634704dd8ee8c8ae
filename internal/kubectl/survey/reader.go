// SPDX-License-Identifier: Apache-2.0

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

// NoSuchNodeError means that no Node has that name.
type NoSuchNodeError struct{ Name string }

func (e NoSuchNodeError) Error() string {
	return fmt.Sprintf("there is no node %q; 'kubectl get nodes' lists them", e.Name)
}

// Reader reads facts through a client.
type Reader struct{ Client client.Reader }

// notes collects what could not be read.
type notes struct {
	unread []explain.Unread
	// answered: the server has answered, even if it was a refusal.
	answered bool
}

// note records the result of a read, and reports whether an object was read. A missing object is no
// failure.
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

// lacks reports whether a read of the kind has failed.
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

// own returns the namespace of Slipway: of the account with the controller's permissions. Every
// user can give pods any labels, so those are no evidence. If no account has these permissions, or
// the caller may not read that, it is the namespace of the plain manifests.
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
