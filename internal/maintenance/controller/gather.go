// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
)

// gather collects what is known, as the caches show it, or as it was written since.
func (m *Maintainer) gather(ctx context.Context) (maintenance.Facts, error) {
	facts := maintenance.Facts{Namespace: m.Namespace, Templates: map[string]*corev1.PodTemplate{}, NotReady: m.pending.all(), Refused: m.failed.refusals()}
	facts.KeptAway, facts.KeptAwayUnknown = m.keptAway.known()
	var maintenances slipwayv1alpha1.NodeMaintenanceList
	var events lifecyclev1alpha1.LifecycleEventList
	var nodes corev1.NodeList
	var jobs batchv1.JobList
	var templates corev1.PodTemplateList
	inside := client.InNamespace(m.Namespace)
	for _, of := range []struct {
		what    string
		list    client.ObjectList
		options []client.ListOption
	}{
		{"NodeMaintenances", &maintenances, nil},
		{"the events of maintenances", &events, []client.ListOption{client.MatchingFields{ofMaintenances: "true"}}},
		{"Nodes", &nodes, nil},
		{"the Jobs of maintenances", &jobs, []client.ListOption{inside, client.MatchingLabelsSelector{Selector: maintenance.Selector()}}},
		{"PodTemplates", &templates, []client.ListOption{inside}},
	} {
		if err := m.reader.List(ctx, of.list, append(of.options, client.UnsafeDisableDeepCopy)...); err != nil {
			return facts, fmt.Errorf("list %s: %w", of.what, err)
		}
	}
	facts.Maintenances = m.maintenances.newest(pointers(maintenances.Items))
	facts.Events = m.events.newest(pointers(events.Items))
	facts.Jobs = m.jobs.newest(pointers(jobs.Items))
	m.starving.tell(&facts)
	leases, err := m.leases(ctx)
	if err != nil {
		return facts, err
	}
	facts.Leases = m.Leases
	budgets := m.budgets.byNode()
	for _, node := range m.nodes.newest(pointers(nodes.Items)) {
		n := m.nodeOf(ctx, node)
		n.Budgets, n.Lease = budgets[node.Name], leases[node.Name]
		facts.Nodes = append(facts.Nodes, n)
	}
	for _, template := range pointers(templates.Items) {
		facts.Templates[template.Name] = template
	}
	return facts, nil
}

// nodeOf is what is known of a Node.
func (m *Maintainer) nodeOf(ctx context.Context, node *corev1.Node) maintenance.Node {
	n := maintenance.Node{Node: node, CordonedFor: nodestate.Owners(node), CordonedBefore: cordons.NotedOn(node).Before != nil}
	n.Unready, n.Checked = m.health.unreadyOn(node.Name)
	records, err := maintenance.RecordsOn(node)
	if err != nil && m.unreadable[node.UID] != node.ResourceVersion {
		m.unreadable[node.UID] = node.ResourceVersion
		log.FromContext(ctx).Error(err, "What a Node says of maintenances is ignored", "node", node.Name)
	}
	n.Records = records
	return n
}

func textOf(records []maintenance.Record) (string, error) {
	if len(records) == 0 {
		return "", nil
	}
	text, err := json.Marshal(records)
	if err != nil {
		return "", fmt.Errorf("encode records of maintenances: %w", err)
	}
	return string(text), nil
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}
