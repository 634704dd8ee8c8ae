// SPDX-License-Identifier: Apache-2.0

package follow

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// readable is the part of the scope that the caller may list and watch. That LifecycleEvents
// may not be is an error, which names the right that is missing.
func readable(ctx context.Context, reader client.WithWatch, group string, scope Scope) (Scope, error) {
	err := look(ctx, reader, &lifecyclev1alpha1.LifecycleEventList{}, selected("metadata.name", scope.Event))
	var unwatched *unwatchedError
	switch {
	case errors.As(err, &unwatched):
		return scope, fmt.Errorf("you may list LifecycleEvents and not watch them: the verb watch on lifecycleevents.%s is missing, which the role slipway-operator has: %w", group, err)
	case err != nil:
		return scope, fmt.Errorf("read LifecycleEvents: %w", err)
	}
	if scope.Maintenances {
		if err := look(ctx, reader, &slipwayv1alpha1.NodeMaintenanceList{}, selected("", "")); err != nil {
			return scope, fmt.Errorf("read NodeMaintenances: %w", err)
		}
	}
	for _, kind := range []struct {
		wanted *bool
		list   client.ObjectList
		option client.ListOption
	}{
		{&scope.Nodes, &corev1.NodeList{}, selected("metadata.name", scope.Node)},
		{&scope.Pods, &corev1.PodList{}, selected("spec.nodeName", scope.Node)},
	} {
		if !*kind.wanted {
			continue
		}
		err := look(ctx, reader, kind.list, kind.option)
		if err != nil && !apierrors.IsForbidden(err) {
			return scope, fmt.Errorf("read what is watched: %w", err)
		}
		*kind.wanted = err == nil
	}
	return scope, nil
}

// unwatchedError is that something may be listed, and not watched.
type unwatchedError struct{ error }

func (e *unwatchedError) Unwrap() error { return e.error }

// look lists a kind and begins to watch it, to find out whether that is allowed: of a watch
// that goes on, a refusal would look like a server that does not answer.
func look(ctx context.Context, reader client.WithWatch, list client.ObjectList, option client.ListOption) error {
	if err := reader.List(ctx, list, option, client.Limit(1)); err != nil {
		return err
	}
	from := &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}}
	watcher, err := reader.Watch(ctx, list, option, from)
	if apierrors.IsForbidden(err) {
		return &unwatchedError{err}
	}
	if err != nil {
		return err
	}
	watcher.Stop()
	return nil
}

func selected(field, value string) client.ListOption {
	if value == "" {
		return client.MatchingFieldsSelector{Selector: fields.Everything()}
	}
	return client.MatchingFields{field: value}
}
