// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"fmt"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
)

// resourceName is an event as kubectl names it.
func (c cluster) resourceName(event string) string {
	return fmt.Sprintf("lifecycleevent.%s/%s", c.home.Group(), event)
}

// watched is the cluster as it is followed.
func (c cluster) watched() follow.Cluster {
	return follow.Cluster{Config: c.config, HTTP: c.http, Home: c.home}
}

// printEvents prints events for programs: one as an object, several as a list.
func (t *tool) printEvents(c cluster, f format, events []*lifecyclev1alpha1.LifecycleEvent) error {
	if f == names {
		for _, event := range events {
			fmt.Fprintln(t.Out, c.resourceName(event.Name))
		}
		return nil
	}
	var items []any
	for _, event := range events {
		printed := event.DeepCopy()
		printed.SetGroupVersionKind(c.home.GroupVersion().WithKind("LifecycleEvent"))
		printed.ManagedFields = nil
		items = append(items, printed)
	}
	if len(items) == 1 {
		return encode(t.Out, f, items[0])
	}
	return encode(t.Out, f, map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
}
