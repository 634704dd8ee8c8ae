// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

// Item is an object, and what an installation would do to it.
type Item struct {
	Object  *unstructured.Unstructured
	Verdict release.Verdict
	// Conflict says who else has set what would be changed.
	Conflict string
}

// Preview says what applying the release would do. Nothing is changed: the server is asked
// in dry runs. What it would refuse is the error, all of it.
func (c *Cluster) Preview(ctx context.Context, r release.Release) ([]Item, error) {
	var (
		items []Item
		errs  []error
	)
	for _, o := range r.All() {
		item, err := c.preview(ctx, o)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		items = append(items, item)
	}
	return items, errors.Join(errs...)
}

// Leftovers are those of the objects that are on the cluster: an installation deletes them.
func (c *Cluster) Leftovers(ctx context.Context, objects []*unstructured.Unstructured) ([]Item, error) {
	var items []Item
	for _, o := range objects {
		live, err := c.get(ctx, o)
		if err != nil {
			return nil, err
		}
		if live == nil {
			continue
		}
		if helm, _ := release.HelmRelease(live); helm != "" {
			return nil, fmt.Errorf("%s is of the release %q of Helm: use 'helm upgrade'", release.RefOf(o), helm)
		}
		items = append(items, Item{Object: live, Verdict: release.Delete})
	}
	return items, nil
}

func (c *Cluster) preview(ctx context.Context, o *unstructured.Unstructured) (Item, error) {
	item := Item{Object: o}
	live, err := c.get(ctx, o)
	if err != nil {
		return item, err
	}
	if live != nil {
		if helm, _ := release.HelmRelease(live); helm != "" {
			return item, fmt.Errorf("%s is of the release %q of Helm: use 'helm upgrade'", release.RefOf(o), helm)
		}
	}
	applied, err := c.resource(o).Apply(ctx, o.GetName(), o, metav1.ApplyOptions{FieldManager: FieldManager, DryRun: []string{metav1.DryRunAll}})
	switch {
	case live == nil && apierrors.IsNotFound(err): // its namespace, or its kind, comes with the release
		item.Verdict = release.Create
	case apierrors.IsConflict(err):
		item.Verdict, item.Conflict = release.Change, err.Error()
	case err != nil:
		return item, fmt.Errorf("%s would be refused: %w", release.RefOf(o), err)
	default:
		item.Verdict = release.Compare(live, applied)
	}
	return item, nil
}

// get is an object of the cluster, or nil.
func (c *Cluster) get(ctx context.Context, o *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	live, err := c.resource(o).Get(ctx, o.GetName(), metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read %s: %w", release.RefOf(o), err)
	default:
		return live, nil
	}
}
