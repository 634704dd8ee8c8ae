// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	leases "github.com/slipway-k8s/slipway/internal/node/lease"
)

// plannedUID is the UID of a maintenance that does not exist yet.
const plannedUID types.UID = "planned"

// fleet is one reading for a forecast.
type fleet struct {
	planning
	maintenances maintenance.Facts
}

// Fleet reads the facts of a forecast, for a maintenance that exists or for a new one. It reads
// each kind once for the whole cluster, page by page. It fails if the caller may not read the
// nodes; the facts name other missing permissions.
func (r Reader) Fleet(ctx context.Context, now time.Time, wanted *slipwayv1alpha1.NodeMaintenance) (forecast.Facts, error) {
	f := &fleet{planning: planning{r: r, facts: plan.Facts{Now: now}}}
	wanted = wanted.DeepCopy()
	if wanted.UID == "" {
		wanted.UID, wanted.CreationTimestamp = plannedUID, metav1.Time{Time: now} // the youngest of all
	}
	for _, read := range []func(context.Context) error{
		f.allNodes, f.home, f.allPods, f.namespaces, f.drainRules, f.budgets, f.volumes, f.events, f.holds, f.availability,
		func(ctx context.Context) error { return f.others(ctx, wanted) },
		func(ctx context.Context) error { return f.template(ctx, wanted) },
	} {
		if err := read(ctx); err != nil {
			return forecast.Facts{}, err
		}
	}
	f.applyRules()
	f.facts.Drains.Nodes = nil // the forecast finds out which are drained together
	return forecast.Facts{Cluster: f.facts, Maintenances: f.maintenances, Planned: wanted.UID}, nil
}

// allNodes reads all nodes, with their records of maintenances. It ignores invalid records, as the
// controller does.
func (f *fleet) allNodes(ctx context.Context) error {
	err := each[corev1.NodeList](ctx, f.r.Client, func(node *corev1.Node) {
		fact := maintenance.Node{Node: node}
		for _, owner := range cordons.On(node).Owners {
			fact.CordonedFor = append(fact.CordonedFor, owner.UID)
		}
		fact.Records, _ = maintenance.RecordsOn(node)
		if held, is := leases.Mirrored(node); is { // the controller mirrors leases
			fact.Lease, f.maintenances.Leases = held, true
		}
		f.maintenances.Nodes = append(f.maintenances.Nodes, fact)
		f.facts.Nodes = append(f.facts.Nodes, node)
		f.facts.Drains.Nodes = append(f.facts.Drains.Nodes, drain.NodeSnapshot{Node: node})
	})
	if err != nil {
		return fmt.Errorf("list the nodes of the cluster: %w", err)
	}
	return nil
}

// allPods reads them, and which of them do not run.
func (f *fleet) allPods(ctx context.Context) error {
	f.facts.Pods = []*corev1.Pod{}
	if err := f.addPods(ctx); err != nil {
		f.facts.Pods = nil
		return f.unsure(err, "the pods of the cluster", "the forecast has no blockers, no replacements, and no nodes that share budgets")
	}
	f.share()
	for _, pod := range f.facts.Pods {
		if p, is := maintenance.ReadNotReady(pod); is {
			f.maintenances.NotReady = append(f.maintenances.NotReady, p)
		}
	}
	maintenance.SortNotReady(f.maintenances.NotReady)
	return nil
}

// events reads the events of maintenances. If Slipway is not installed, there are none.
func (f *fleet) events(ctx context.Context) error {
	err := each[lifecyclev1alpha1.LifecycleEventList](ctx, f.r.Client, func(o *lifecyclev1alpha1.LifecycleEvent) {
		f.maintenances.Events = append(f.maintenances.Events, o)
	}, client.HasLabels{slipwayv1alpha1.MaintenanceEventLabel})
	if client.IgnoreNotFound(err) != nil {
		return f.unsure(err, "the LifecycleEvents", "the forecast assumes that no node is drained")
	}
	return nil
}

// holds reads the users that hold nodes. An older installation has no holds.
func (f *fleet) holds(ctx context.Context) error {
	var all []*hold.Hold
	err := each[slipwayv1alpha1.NodeHoldList](ctx, f.r.Client, func(h *hold.Hold) { all = append(all, h) })
	if client.IgnoreNotFound(err) != nil {
		return f.unsure(err, "the NodeHolds", "the forecast assumes that no user holds a node")
	}
	users := hold.ByUsers(all)
	for i := range f.maintenances.Nodes {
		f.maintenances.Nodes[i].HeldBy = hold.Text(users[f.maintenances.Nodes[i].Name])
	}
	return nil
}

// availability reads the NodeAvailabilityBudgets. An older installation has none.
func (f *fleet) availability(ctx context.Context) error {
	err := each[slipwayv1alpha1.NodeAvailabilityBudgetList](ctx, f.r.Client, func(b *slipwayv1alpha1.NodeAvailabilityBudget) {
		f.maintenances.Availability = append(f.maintenances.Availability, b)
	})
	if client.IgnoreNotFound(err) != nil {
		return f.unsure(err, "the NodeAvailabilityBudgets", "the forecast assumes that there are none")
	}
	return nil
}

// others reads all maintenances. One of them may be the wanted one.
func (f *fleet) others(ctx context.Context, wanted *slipwayv1alpha1.NodeMaintenance) error {
	f.maintenances.Maintenances = []*slipwayv1alpha1.NodeMaintenance{wanted}
	err := each[slipwayv1alpha1.NodeMaintenanceList](ctx, f.r.Client, func(o *slipwayv1alpha1.NodeMaintenance) {
		if o.UID != wanted.UID {
			f.maintenances.Maintenances = append(f.maintenances.Maintenances, o)
		}
	})
	if client.IgnoreNotFound(err) != nil {
		return f.unsure(err, "the NodeMaintenances", "the forecast assumes that there are no others")
	}
	return nil
}

// template reads the PodTemplate that the maintenance needs. Without the permission, it assumes
// that the template exists.
func (f *fleet) template(ctx context.Context, m *slipwayv1alpha1.NodeMaintenance) error {
	f.maintenances.JobNamespace = maintenance.JobNamespace(f.own)
	if m.Spec.Work == nil || m.Spec.Work.PodTemplate == "" {
		return nil
	}
	template := &corev1.PodTemplate{}
	err := f.r.Client.Get(ctx, client.ObjectKey{Namespace: f.maintenances.JobNamespace, Name: m.Spec.Work.PodTemplate}, template)
	switch {
	case apierrors.IsNotFound(err):
		return nil
	case err != nil:
		err = f.unsure(err, "PodTemplate "+m.Spec.Work.PodTemplate, "the forecast assumes it in namespace "+f.maintenances.JobNamespace)
	}
	f.maintenances.Templates = map[string]*corev1.PodTemplate{m.Spec.Work.PodTemplate: template}
	return err
}
