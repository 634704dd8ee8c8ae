// SPDX-License-Identifier: Apache-2.0

package installer

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"

	"github.com/slipway-k8s/slipway/internal/kubectl/install/release"
)

// spareNamespace takes Slipway's namespace out of what goes, where something is in it that
// is not Slipway's, or that cannot be looked at: all of it would go with the namespace.
func (c *Cluster) spareNamespace(ctx context.Context, left *Remains, everything []*unstructured.Unstructured) error {
	at := slices.IndexFunc(left.Objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" })
	if at < 0 || left.Objects[at].GetDeletionTimestamp() != nil {
		return nil
	}
	all, unseen, err := c.within(ctx, left.Objects[at].GetName())
	if err != nil {
		return err
	}
	for _, ref := range release.Foreign(everything, all) {
		left.Foreign = append(left.Foreign, ref.Kind.Kind+" "+ref.Name)
	}
	for _, kind := range unseen {
		left.Foreign = append(left.Foreign, "perhaps "+kind+", which cannot be listed")
	}
	if len(left.Foreign) > 0 {
		left.Objects = slices.Delete(left.Objects, at, at+1)
	}
	return nil
}

// within is all that is in a namespace, of the kinds of which something can be deleted, and
// which of these kinds cannot be listed.
func (c *Cluster) within(ctx context.Context, namespace string) (all []*unstructured.Unstructured, unseen []string, err error) {
	kinds, err := c.kube.Discovery().ServerPreferredNamespacedResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, nil, fmt.Errorf("ask the API server which kinds there are: %w", err)
	}
	if err != nil {
		unseen = append(unseen, "kinds of API groups that do not answer")
	}
	deletable := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "delete"}}, kinds)
	resources, err := discovery.GroupVersionResources(deletable)
	if err != nil {
		return nil, nil, fmt.Errorf("read which kinds there are: %w", err)
	}
	for _, kind := range slices.SortedFunc(maps.Keys(resources), byName) {
		objects, err := c.objects.Resource(kind).Namespace(namespace).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) { // its CRD has just gone
			continue
		}
		if err != nil {
			unseen = append(unseen, kind.Resource)
			continue
		}
		for i := range objects.Items {
			all = append(all, &objects.Items[i])
		}
	}
	return all, unseen, ctx.Err()
}

func byName(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) }
