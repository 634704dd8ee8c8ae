// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
	"github.com/slipway-k8s/slipway/internal/node/freeze"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	nodestate "github.com/slipway-k8s/slipway/internal/node/state"
	"github.com/slipway-k8s/slipway/internal/platform/ownwrites"
	"github.com/slipway-k8s/slipway/nodelease"
)

// written are the writes that the watches have not shown yet. A decision that misses a write could
// exceed the limits of a rollout, or repeat a step.
type written struct {
	maintenances *ownwrites.Writes[*slipwayv1alpha1.NodeMaintenance]
	events       *ownwrites.Writes[*lifecyclev1alpha1.LifecycleEvent]
	nodes        *ownwrites.Writes[*corev1.Node]
	jobs         *ownwrites.Writes[*batchv1.Job]
}

// unshown limits the time until the next look at writes that no watch shows: the object may have been
// written and deleted while a watch was broken.
const unshown = 30 * time.Second

// due returns the time of the next look at the writes; zero, if the watches have shown all writes.
func (w written) due(now time.Time) time.Time {
	if w.maintenances.Unshown() || w.events.Unshown() || w.nodes.Unshown() || w.jobs != nil && w.jobs.Unshown() {
		return now.Add(unshown)
	}
	return time.Time{}
}

// gather collects the facts: of each object the newer of the versions that a watch has shown and that
// this process has written.
func (c *Controller) gather(ctx context.Context) (maintenance.Facts, error) {
	facts := maintenance.Facts{Leases: c.Leases, Templates: map[string]*corev1.PodTemplate{}, Refused: c.failed.refusals()}
	c.watches.addTo(&facts)
	var (
		events       lifecyclev1alpha1.LifecycleEventList
		jobs         batchv1.JobList
		leases       coordinationv1.LeaseList
		maintenances slipwayv1alpha1.NodeMaintenanceList
		nodes        corev1.NodeList
		templates    corev1.PodTemplateList
		seen         []*corev1.Node
		holds        slipwayv1alpha1.NodeHoldList
		freezes      slipwayv1alpha1.FreezeList
		budgets      slipwayv1alpha1.NodeAvailabilityBudgetList
		errs         [9]error
	)
	list := func(list client.ObjectList, options ...client.ListOption) func() error {
		return func() error {
			if err := c.reader.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
				return fmt.Errorf("list %T: %w", list, err)
			}
			return nil
		}
	}
	facts.Maintenances, errs[0] = newest(c.written.maintenances, &maintenances.Items, list(&maintenances))
	facts.Events, errs[1] = newest(c.written.events, &events.Items, list(&events, client.MatchingFields{ofMaintenances: "true"}))
	if c.Jobs {
		facts.JobNamespace = maintenance.JobNamespace(c.Namespace)
		inside := client.InNamespace(facts.JobNamespace)
		facts.Jobs, errs[2] = newest(c.written.jobs, &jobs.Items, list(&jobs, inside, client.MatchingLabelsSelector{Selector: maintenance.Selector()}))
		errs[4] = list(&templates, inside)()
	}
	seen, errs[3] = newest(c.written.nodes, &nodes.Items, list(&nodes))
	errs[6] = list(&holds)()
	errs[7] = list(&freezes)()
	errs[8] = list(&budgets)()
	if c.Leases {
		errs[5] = list(&leases, client.InNamespace(nodelease.Namespace))()
	}
	if err := errors.Join(errs[:]...); err != nil {
		return facts, err
	}
	facts.Availability = pointers(budgets.Items)
	for _, template := range pointers(templates.Items) {
		facts.Templates[template.Name] = template
	}
	// A late cache shows too early an end of Slipway's own leases.
	now, held := c.Clock.Now(), map[string]nodelease.Held{}
	for _, lease := range pointers(leases.Items) {
		if holder, is := nodelease.Read(lease, now); is {
			held[lease.Name] = holder
		}
	}
	users := hold.ByUsers(pointers(holds.Items))
	pdbs := c.watches.budgetsByNode()
	for _, node := range seen {
		n := maintenance.Node{
			Node: node, CordonedFor: nodestate.Owners(node), CordonedBefore: cordons.On(node).Before != nil,
			Budgets: pdbs[node.Name], Lease: held[node.Name], HeldBy: hold.Text(users[node.Name]),
			Frozen: freeze.Objection(pointers(freezes.Items), node.Labels), Records: c.recordsOn(ctx, node),
		}
		n.Unready, n.Checked = c.watches.unreadyOn(node.Name)
		facts.Nodes = append(facts.Nodes, n)
	}
	return facts, nil
}

// newest lists objects, and returns the newer of each and of its last written version.
func newest[T any, P interface {
	*T
	ownwrites.Object
}](of *ownwrites.Writes[P], items *[]T, list func() error) ([]P, error) {
	return of.Newest(func() ([]P, error) {
		err := list()
		return pointers[T, P](*items), err
	}, nil)
}

func pointers[T any, P interface{ *T }](items []T) []P {
	all := make([]P, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// recordsOn returns the records of maintenances on a Node. It logs once if they are unreadable.
func (c *Controller) recordsOn(ctx context.Context, node *corev1.Node) []maintenance.Record {
	records, err := maintenance.RecordsOn(node)
	if err != nil && c.unreadable[node.UID] != node.ResourceVersion {
		c.unreadable[node.UID] = node.ResourceVersion
		log.FromContext(ctx).Error(err, "The records of maintenances on a Node are ignored", "node", node.Name)
	}
	return records
}

// listen requests a pass whenever an object changes. It returns, by kind, a channel that closes when
// the watch has listed all objects.
func (c *Controller) listen(ctx context.Context) (synced map[string]<-chan struct{}, stop func(), err error) {
	synced = map[string]<-chan struct{}{}
	var stops []func() error
	stop = func() {
		for _, f := range stops {
			if err := f(); err != nil {
				log.FromContext(ctx).Error(err, "Cannot remove an event handler")
			}
		}
	}
	watch := func(kind string, object client.Object, changed func(before, after any) bool, use func(ownwrites.Store)) error {
		informer, err := c.Cache.GetInformer(ctx, object, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
		if use != nil {
			store, ok := informer.(toolscache.SharedIndexInformer)
			if !ok { // a cache of several namespaces has several stores
				return fmt.Errorf("watch %s: the cache must have one watch for them", kind)
			}
			use(store.GetIndexer())
		}
		registration, err := informer.AddEventHandler(c.handler(changed))
		if err != nil {
			return fmt.Errorf("watch %s: %w", kind, err)
		}
		stops = append(stops, func() error { return informer.RemoveEventHandler(registration) })
		synced[kind] = registration.HasSyncedChecker().Done()
		return nil
	}
	err = errors.Join(
		watch("NodeMaintenances", &slipwayv1alpha1.NodeMaintenance{}, always, func(s ownwrites.Store) {
			c.written.maintenances = ownwrites.New[*slipwayv1alpha1.NodeMaintenance](s)
		}),
		watch("LifecycleEvents", &lifecyclev1alpha1.LifecycleEvent{}, always, func(s ownwrites.Store) {
			c.written.events = ownwrites.New[*lifecyclev1alpha1.LifecycleEvent](s)
		}),
		watch("Nodes", &corev1.Node{}, nodeChanged, func(s ownwrites.Store) { c.written.nodes = ownwrites.New[*corev1.Node](s) }),
		watch("NodeHolds", &slipwayv1alpha1.NodeHold{}, always, nil),
		watch("Freezes", &slipwayv1alpha1.Freeze{}, always, nil),
		watch("NodeAvailabilityBudgets", &slipwayv1alpha1.NodeAvailabilityBudget{}, specChanged, nil),
	)
	if c.Jobs {
		err = errors.Join(err,
			watch("Jobs", &batchv1.Job{}, always, func(s ownwrites.Store) { c.written.jobs = ownwrites.New[*batchv1.Job](s) }),
			watch("PodTemplates", &corev1.PodTemplate{}, always, nil))
	}
	if c.Leases {
		err = errors.Join(err, watch("Leases of nodes", &coordinationv1.Lease{}, leaseChanged, nil))
	}
	return synced, stop, err
}

func always(any, any) bool { return true }

func specChanged(before, after any) bool {
	return before.(client.Object).GetGeneration() != after.(client.Object).GetGeneration()
}

func (c *Controller) handler(changed func(before, after any) bool) toolscache.ResourceEventHandler {
	wake := func(o any) {
		if event, is := o.(*lifecyclev1alpha1.LifecycleEvent); !is || maintenance.Labelled(event) {
			c.wake()
		}
	}
	return toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake,
		UpdateFunc: func(before, after any) {
			if changed(before, after) {
				wake(after)
			}
		},
		DeleteFunc: func(o any) {
			if missed, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
				o = missed.Obj
			}
			wake(o)
		},
	}
}

// awaitSynced waits until the watches have listed all objects. It returns false if ctx ends before.
func (c *Controller) awaitSynced(ctx context.Context, synced map[string]<-chan struct{}) bool {
	for kind, done := range synced {
		timer := c.Clock.NewTimer(patience)
		for waits := true; waits; {
			select {
			case <-done:
				waits = false
			case <-timer.C():
				log.FromContext(ctx).Error(fmt.Errorf("list %s: no answer within %s", kind, patience), "The controller of NodeMaintenances cannot start", "remedy",
					"Apply the CRDs and the permissions of this version (config/crd/slipway.dev, config/rbac/controller.yaml)")
			case <-ctx.Done():
				timer.Stop()
				return false
			}
		}
		timer.Stop()
	}
	return true
}

// nodeChanged leaves out changes of a Node that no decision depends on: a heartbeat every five
// minutes.
func nodeChanged(before, after any) bool {
	a, is := before.(*corev1.Node)
	b, too := after.(*corev1.Node)
	return !is || !too || a.UID != b.UID || (a.DeletionTimestamp == nil) != (b.DeletionTimestamp == nil) ||
		!maps.Equal(a.Labels, b.Labels) || !maps.Equal(a.Annotations, b.Annotations) ||
		a.Spec.Unschedulable != b.Spec.Unschedulable || !equality.Semantic.DeepEqual(a.Spec.Taints, b.Spec.Taints) ||
		!slices.EqualFunc(a.Status.Conditions, b.Status.Conditions, sameCondition)
}

func sameCondition(a, b corev1.NodeCondition) bool {
	a.LastHeartbeatTime = b.LastHeartbeatTime
	return equality.Semantic.DeepEqual(a, b)
}

// leaseChanged leaves out renewals, which change neither the holder nor its start.
func leaseChanged(before, after any) bool {
	a, is := before.(*coordinationv1.Lease)
	b, too := after.(*coordinationv1.Lease)
	return !is || !too || !equality.Semantic.DeepEqual(a.Spec.HolderIdentity, b.Spec.HolderIdentity) || !a.Spec.AcquireTime.Equal(b.Spec.AcquireTime)
}
