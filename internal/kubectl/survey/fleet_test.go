// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
)

func reboots() *slipwayv1alpha1.NodeMaintenance {
	m := &slipwayv1alpha1.NodeMaintenance{}
	m.Name = "night"
	m.Spec.Work = &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkJob, PodTemplate: "reboot"}
	return m
}

func fleetOf(t *testing.T, l *library, m *slipwayv1alpha1.NodeMaintenance) forecast.Facts {
	t.Helper()
	f, err := (&Reader{l}).Fleet(t.Context(), time.Unix(1000, 0), m)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestAForecastIsMadeFromTheWholeClusterInFewRequests(t *testing.T) {
	l := &library{refused: func(any) bool { return false }}
	f := fleetOf(t, l, reboots())
	if len(f.Cluster.Unread) > 0 || len(f.Cluster.Nodes) != 2 || len(f.Cluster.Pods) != 2 || len(f.Maintenances.Nodes) != 2 {
		t.Errorf("%d and %d nodes, %d pods of two pages, unread %q", len(f.Cluster.Nodes), len(f.Maintenances.Nodes), len(f.Cluster.Pods), f.Cluster.Unread)
	}
	first, second := f.Maintenances.Nodes[0].Lease, f.Maintenances.Nodes[1].Lease
	if !f.Maintenances.Leases || first.Holder != "" || second.Holder != "fwup" || second.Purpose != "firmware" {
		t.Errorf("leases %t: %+v, %+v", f.Maintenances.Leases, first, second)
	}
	if m := f.Maintenances.Maintenances; len(m) != 1 || m[0].UID != f.Planned || m[0].CreationTimestamp.Unix() != 1000 {
		t.Errorf("one that is not there yet is %+v, and planned is %q", m, f.Planned)
	}
	if rules := f.Cluster.Drains.Rules; len(rules["shop"]) != 1 || len(f.Cluster.Drains.Nodes) != 0 {
		t.Errorf("rules %+v, drained together %d", rules, len(f.Cluster.Drains.Nodes))
	}
	if f.Maintenances.JobNamespace != "slipway-jobs" || f.Maintenances.Templates["reboot"] == nil {
		t.Errorf("namespace %q, templates %v", f.Maintenances.JobNamespace, f.Maintenances.Templates)
	}
	// A maintenance waits for users, and not for another maintenance.
	if by := f.Maintenances.Nodes; !strings.HasPrefix(by[0].HeldBy, `user "alice" for "disk"`) || by[1].HeldBy != "" {
		t.Errorf("the nodes are held by %q and %q", by[0].HeldBy, by[1].HeldBy)
	}
	// Nodes, two pages of pods, namespaces, rules, budgets, claims, volumes, events, holds,
	// availability budgets, maintenances.
	if l.lists != 12 {
		t.Errorf("%d lists", l.lists)
	}
}

func TestOneThatIsThereKeepsWhoItIs(t *testing.T) {
	m := reboots()
	m.UID = "mine"
	if f := fleetOf(t, &library{refused: func(any) bool { return false }}, m); f.Planned != "mine" || f.Maintenances.Maintenances[0].UID != "mine" {
		t.Errorf("planned is %q", f.Planned)
	}
}

func TestWhatAForecastMayNotReadMakesItUnsure(t *testing.T) {
	for name, tc := range map[string]struct {
		refused func(any) bool
		want    []string
	}{
		"pods": {func(kind any) bool { _, is := kind.(*corev1.PodList); return is }, []string{"the pods of the cluster cannot be read, so the forecast has no blockers"}},
		"budgets": {func(kind any) bool { _, is := kind.(*policyv1.PodDisruptionBudgetList); return is }, []string{
			"the budgets of namespace shop cannot be read", "the budgets of namespace slipway cannot be read",
		}},
		"claims":       {func(kind any) bool { _, is := kind.(*corev1.PersistentVolumeClaimList); return is }, []string{"volumes and their claims cannot be read"}},
		"events":       {func(kind any) bool { _, is := kind.(*lifecyclev1alpha1.LifecycleEventList); return is }, []string{"the LifecycleEvents cannot be read, so the forecast assumes that no node is drained"}},
		"holds":        {func(kind any) bool { _, is := kind.(*slipwayv1alpha1.NodeHoldList); return is }, []string{"the NodeHolds cannot be read, so the forecast assumes that no user holds a node"}},
		"availability": {func(kind any) bool { _, is := kind.(*slipwayv1alpha1.NodeAvailabilityBudgetList); return is }, []string{"the NodeAvailabilityBudgets cannot be read, so the forecast assumes that there are none"}},
		"maintenances": {func(kind any) bool { _, is := kind.(*slipwayv1alpha1.NodeMaintenanceList); return is }, []string{"the NodeMaintenances cannot be read"}},
		"the template": {func(kind any) bool { _, is := kind.(*corev1.PodTemplate); return is }, []string{"PodTemplate reboot cannot be read, so the forecast assumes it in namespace slipway-jobs"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := fleetOf(t, &library{refused: tc.refused}, reboots())
			if got := f.Cluster.Unread; len(got) != len(tc.want) {
				t.Fatalf("unread %q, want %q", got, tc.want)
			}
			for i, want := range tc.want {
				if got := f.Cluster.Unread[i]; !strings.HasPrefix(got, want) || !strings.Contains(got, "not yours") {
					t.Errorf("got %q, want %q and why", got, want)
				}
			}
			if (f.Cluster.Pods == nil) != (name == "pods") {
				t.Errorf("%d pods", len(f.Cluster.Pods))
			}
			if f.Maintenances.Templates["reboot"] == nil {
				t.Error("the PodTemplate is taken not to be there")
			}
		})
	}
}

func TestAForecastNeedsTheNodes(t *testing.T) {
	l := &library{refused: func(kind any) bool { _, is := kind.(*corev1.NodeList); return is }}
	if _, err := (&Reader{l}).Fleet(t.Context(), time.Time{}, reboots()); err == nil || !strings.Contains(err.Error(), "list the nodes of the cluster") {
		t.Errorf("error %v", err)
	}
}
