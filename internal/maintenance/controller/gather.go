// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/nodelease"
)

// gather collects what is known: the newer of what the watches show and what was written.
func (c *Controller) gather(ctx context.Context) (maintenance.Facts, error) {
	facts := maintenance.Facts{
		Namespace: c.Namespace, Leases: c.Leases, Templates: map[string]*corev1.PodTemplate{},
		NotReady: c.pending.all(), Refused: c.failed.refusals(),
	}
	facts.KeptAway, facts.KeptAwayUnknown = c.keptAway.known()
	c.starving.addTo(&facts)
	inside := client.InNamespace(c.Namespace)
	list := func(what string, list client.ObjectList, options ...client.ListOption) error {
		if err := c.reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
			return fmt.Errorf("list %s: %w", what, err)
		}
		return nil
	}
	var errs [4]error
	facts.Maintenances, errs[0] = c.written.maintenances.Newest(func() ([]*slipwayv1alpha1.NodeMaintenance, error) {
		var all slipwayv1alpha1.NodeMaintenanceList
		err := list("NodeMaintenances", &all)
		return pointers(all.Items), err
	}, nil)
	facts.Events, errs[1] = c.written.events.Newest(func() ([]*lifecyclev1alpha1.LifecycleEvent, error) {
		var all lifecyclev1alpha1.LifecycleEventList
		err := list("the events of maintenances", &all, client.MatchingFields{ofMaintenances: "true"})
		return pointers(all.Items), err
	}, nil)
	facts.Jobs, errs[2] = c.written.jobs.Newest(func() ([]*batchv1.Job, error) {
		var all batchv1.JobList
		err := list("the Jobs of maintenances", &all, inside, client.MatchingLabelsSelector{Selector: maintenance.Selector()})
		return pointers(all.Items), err
	}, nil)
	nodes, err := c.written.nodes.Newest(func() ([]*corev1.Node, error) {
		var all corev1.NodeList
		err := list("Nodes", &all)
		return pointers(all.Items), err
	}, nil)
	errs[3] = err
	var templates corev1.PodTemplateList
	if err := errors.Join(errors.Join(errs[:]...), list("PodTemplates", &templates, inside)); err != nil {
		return facts, err
	}
	for _, template := range pointers(templates.Items) {
		facts.Templates[template.Name] = template
	}
	leases, err := c.leases(ctx)
	if err != nil {
		return facts, err
	}
	budgets := c.budgets.byNode()
	for _, node := range nodes {
		n := c.nodeOf(ctx, node)
		n.Budgets, n.Lease = budgets[node.Name], leases[node.Name]
		facts.Nodes = append(facts.Nodes, n)
	}
	return facts, nil
}

// nodeOf returns what is known of a Node.
func (c *Controller) nodeOf(ctx context.Context, node *corev1.Node) maintenance.Node {
	n := maintenance.Node{Node: node, CordonedFor: nodestate.Owners(node), CordonedBefore: cordons.On(node).Before != nil}
	n.Unready, n.Checked = c.health.unreadyOn(node.Name)
	records, err := maintenance.RecordsOn(node)
	if err != nil && c.unreadable[node.UID] != node.ResourceVersion {
		c.unreadable[node.UID] = node.ResourceVersion
		log.FromContext(ctx).Error(err, "The records of maintenances on a Node are ignored", "node", node.Name)
	}
	n.Records = records
	return n
}

// leases returns the holders of the leases of nodes, by the nodes' names. A late cache shows that one
// of ours ends earlier than it does.
func (c *Controller) leases(ctx context.Context) (map[string]nodelease.Held, error) {
	if !c.Leases {
		return nil, nil //nolint:nilnil // nobody looks at them
	}
	var list coordinationv1.LeaseList
	if err := c.reader.List(ctx, &list, client.InNamespace(nodelease.Namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list the leases of nodes: %w", err)
	}
	now, held := c.Clock.Now(), map[string]nodelease.Held{}
	for i := range list.Items {
		if holder, is := nodelease.Read(&list.Items[i], now); is {
			held[list.Items[i].Name] = holder
		}
	}
	return held, nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
