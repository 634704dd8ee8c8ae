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
	"math"
	"net/http"
	"slices"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// NoSuchNodeError says that there is no Node of that name.
type NoSuchNodeError struct{ Name string }

func (e NoSuchNodeError) Error() string {
	return fmt.Sprintf("there is no node %q; 'kubectl get nodes' lists them", e.Name)
}

// Reader reads what is asked about.
type Reader struct{ client client.Reader }

// New returns a reader for the cluster and the credentials of config. It makes no request:
// the kinds are known, so that the caller needs no permission for discovery.
func New(config *rest.Config, httpClient *http.Client, h apigroup.Home) (*Reader, error) {
	scheme := h.Scheme()
	for _, add := range []func(*runtime.Scheme) error{
		policyv1.AddToScheme, storagev1.AddToScheme, coordinationv1.AddToScheme, rbacv1.AddToScheme, slipwayv1alpha1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register the kinds that are read: %w", err)
		}
	}
	c, err := client.New(config, client.Options{HTTPClient: httpClient, Scheme: scheme, Mapper: mapper(h)})
	if err != nil {
		return nil, fmt.Errorf("build a client: %w", err)
	}
	return &Reader{client: c}, nil
}

// mapper is that of the home, with the other kinds that are read here.
func mapper(h apigroup.Home) apimeta.RESTMapper {
	more := apimeta.NewDefaultRESTMapper(nil)
	for _, kind := range []struct {
		of    schema.GroupVersionKind
		scope apimeta.RESTScope
	}{
		{corev1.SchemeGroupVersion.WithKind("Namespace"), apimeta.RESTScopeRoot},
		{corev1.SchemeGroupVersion.WithKind("PersistentVolumeClaim"), apimeta.RESTScopeNamespace},
		{corev1.SchemeGroupVersion.WithKind("PodTemplate"), apimeta.RESTScopeNamespace},
		{corev1.SchemeGroupVersion.WithKind("PersistentVolume"), apimeta.RESTScopeRoot},
		{policyv1.SchemeGroupVersion.WithKind("PodDisruptionBudget"), apimeta.RESTScopeNamespace},
		{storagev1.SchemeGroupVersion.WithKind("VolumeAttachment"), apimeta.RESTScopeRoot},
		{rbacv1.SchemeGroupVersion.WithKind("ClusterRoleBinding"), apimeta.RESTScopeRoot},
	} {
		more.Add(kind.of, kind.scope)
	}
	return apimeta.MultiRESTMapper{h.Mapper(), more}
}

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
func (r *Reader) list(ctx context.Context, n *notes, kind explain.Kind, into client.ObjectList, options ...client.ListOption) bool {
	return n.note(kind, r.client.List(ctx, into, options...))
}

// own is the namespace of Slipway: that of the account which has the controller's rights.
// Pods do not tell it, because anybody can give theirs any labels. Where nobody has these
// rights, or it may not be read who has, it is the one of the plain manifests.
func (r *Reader) own(ctx context.Context) (string, error) {
	var binding rbacv1.ClusterRoleBinding
	err := r.client.Get(ctx, client.ObjectKey{Name: controllerName}, &binding)
	for _, s := range binding.Subjects {
		if err == nil && s.Kind == rbacv1.ServiceAccountKind && s.Namespace != "" {
			return s.Namespace, nil
		}
	}
	return defaultNamespace, client.IgnoreNotFound(err)
}

const (
	// perPage is kubectl's own.
	perPage = 500
	// maxPages is for what may be more than anybody wants to wait for.
	maxPages = 10
)

// list is a pointer to a kind of list.
type list[T any] interface {
	*T
	client.ObjectList
}

// each reads a list page by page, so that no answer of a large cluster is too large, and
// hands over each object. T is the type of the list.
func each[T any, L list[T], O client.Object](ctx context.Context, reader client.Reader, take func(O), options ...client.ListOption) error {
	_, err := firstPages(ctx, reader, math.MaxInt, func(page L) {
		_ = apimeta.EachListItem(page, func(object runtime.Object) error { // take does not fail
			take(object.(O))
			return nil
		})
	}, options...)
	return err
}

// firstPages reads so many pages of a list, and tells whether there are more. Each page is a
// list of its own: the decoder would mix its items with those of a list that has some.
func firstPages[T any, L list[T]](
	ctx context.Context, reader client.Reader, most int, take func(L), options ...client.ListOption,
) (left bool, err error) {
	next := ""
	for range most {
		page := L(new(T))
		all := append([]client.ListOption{client.Limit(perPage), client.Continue(next)}, options...)
		if err := reader.List(ctx, page, all...); err != nil {
			return false, err
		}
		take(page)
		if next = page.GetContinue(); next == "" {
			return false, nil
		}
	}
	return true, nil
}
