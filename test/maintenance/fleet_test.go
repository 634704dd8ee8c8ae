// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"fmt"
	"os"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/platform/faultpoint"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// size of a fleet.
type size struct{ nodes, pods, budgets int }

// sizeOf is a third of the whole, unless SLIPWAY_SOAK is set.
func sizeOf() size {
	if os.Getenv("SLIPWAY_SOAK") != "" {
		return size{nodes: 50, pods: 1500, budgets: 40}
	}
	return size{nodes: 17, pods: 500, budgets: 13}
}

// killedAt is where controllers are killed, one after the other.
var killedAt = []string{
	faultpoint.MaintenanceEventCreated, faultpoint.Claimed, faultpoint.Evicting, faultpoint.MaintenanceTargetsRaised,
	faultpoint.MaintenanceJobCreated, faultpoint.MaintenanceRecorded, faultpoint.MaintenanceHoldDropped, faultpoint.TerminalWritten,
	faultpoint.MaintenanceReturnCreated, faultpoint.MaintenanceEventReleased, faultpoint.ConditionPatched, faultpoint.Deleted,
}

// TestAFleetZoneByZone reboots a fleet, a zone after the other and a fifth of it at a time,
// while its pods are held by budgets and the controller is killed again and again. That no
// promise was broken meanwhile, the audit log tells.
func TestAFleetZoneByZone(t *testing.T) {
	t.Parallel()
	s := newStageOn(t, harness.Own(t, options))
	c := &scene{stage: s, t: t, group: "fleet"}
	of := sizeOf()
	harness.Record(t, fmt.Sprintf("%d nodes, %d pods, %d budgets; the controller is killed %d times", of.nodes, of.pods, of.budgets, len(killedAt)))
	c.nodes = s.env.Fleet(t, c.group, zones(of.nodes))
	c.daemons()
	c.populate(of)
	podTemplate(t, c.env, "reboot", time.Second)
	m := c.maintain(job("reboot"), func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Rollout = &slipwayv1alpha1.MaintenanceRollout{
			MaxUnavailable: new(intstr.FromString("20%")), TopologyKey: corev1.LabelTopologyZone,
			MaxPendingPods: new(int32(of.pods / 5)), // as many as are on the nodes that are out
		}
		// Two steps for each node: what a selector is about goes first.
		s.DrainPlan = []slipwayv1alpha1.DrainTarget{{
			PodType: slipwayv1alpha1.PodTypeDefault, PodPriority: new(int32(0)),
			PodSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"tier": "batch"}},
		}}
	})
	began := time.Now()
	for _, point := range killedAt {
		p := start(t, c.env, point)
		p.AwaitFaultPoint(point)
		p.Kill()
		t.Logf("killed at %s, %s after it began", point, time.Since(began).Round(time.Second))
	}
	last := start(t, c.env, "")
	for done := range of.nodes {
		m.Await(fmt.Sprintf("has %d nodes behind it", done+1), func(o *slipwayv1alpha1.NodeMaintenance) bool {
			return int(o.Status.Nodes.Returned) > done
		})
	}
	o := m.AwaitCompleted()
	if n := o.Status.Nodes; int(n.Selected) != of.nodes || int(n.Returned) != of.nodes || n.Failed+n.Out+n.Waiting != 0 {
		t.Errorf("it has ended with %+v", n)
	}
	c.awaitApps(of)
	c.workedOn(of.nodes, began)
	m.Delete()
	last.Stop()
}

// zones are the labels of nodes in three zones. The first of the zones has two nodes of the
// control plane, and the second one.
func zones(count int) (all []map[string]string) {
	for i := range count {
		labels := map[string]string{corev1.LabelTopologyZone: fmt.Sprintf("zone-%c", 'a'+i%3)}
		if i == 0 || i == 3 || i == 4 {
			labels["node-role.kubernetes.io/control-plane"] = ""
		}
		all = append(all, labels)
	}
	return all
}

// daemons has a DaemonSet on the nodes, whose pods stay.
func (c *scene) daemons() {
	c.t.Helper()
	app := c.group + "-daemon"
	d := &appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
	d.Spec.Template = harness.PodSpec(app, c.group, harness.PodOptions{})
	c.must(c.env.Client.Create(c.t.Context(), d))
	c.t.Cleanup(func() { c.env.DeleteQuietly(d) })
	harness.Await(c.t, c.env, "daemonset "+app+" is ready", &appsv1.DaemonSetList{}, func(d *appsv1.DaemonSet) bool {
		return int(d.Status.NumberReady) == len(c.nodes)
	}, harness.Named(app))
}

func (c *scene) app(i int) string { return fmt.Sprintf("%s-app-%d", c.group, i) }

// populate fills the nodes with Deployments, each with a budget of a tenth of its pods.
func (c *scene) populate(of size) {
	c.t.Helper()
	harness.SideBySide(c.t, of.budgets, func(i int) error {
		app, replicas := c.app(i), int32(of.pods/of.budgets)
		labels := &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}
		named := metav1.ObjectMeta{Name: app, Namespace: metav1.NamespaceDefault}
		d := &appsv1.Deployment{ObjectMeta: named, Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: labels,
			Template: harness.PodSpec(app, c.group, harness.PodOptions{Ready: 200 * time.Millisecond, Gone: time.Second}),
		}}
		b := &policyv1.PodDisruptionBudget{ObjectMeta: named, Spec: policyv1.PodDisruptionBudgetSpec{
			Selector: labels, MaxUnavailable: new(intstr.FromString("10%")),
		}}
		for _, o := range []client.Object{d, b} {
			c.t.Cleanup(func() { c.env.DeleteQuietly(o) })
			if err := c.env.Client.Create(c.t.Context(), o); err != nil {
				return err
			}
		}
		return nil
	})
	c.awaitApps(of)
}

// awaitApps waits until all pods are there, and their budgets know it.
func (c *scene) awaitApps(of size) {
	c.t.Helper()
	var all []string
	for i := range of.budgets {
		all = append(all, c.app(i))
	}
	c.env.AwaitAll(c.t, "budget", &policyv1.PodDisruptionBudgetList{}, all, func(o client.Object) bool {
		s := o.(*policyv1.PodDisruptionBudget).Status
		return s.ObservedGeneration == o.GetGeneration() && int(s.CurrentHealthy) == of.pods/of.budgets
	})
}

// workedOn checks that so many Jobs were created since then: that each was for another node, the
// audit log is held to when the test ends.
func (c *scene) workedOn(nodes int, since time.Time) {
	c.t.Helper()
	created := c.env.Requests(c.t, func(r auditlog.Request) bool {
		return r.Resource == "jobs" && r.Verb == "create" && r.Code < 300 && r.Began.After(since)
	})
	if len(created) != nodes {
		c.t.Errorf("%d Jobs were created for %d nodes", len(created), nodes)
	}
}
