// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// statusOf is how maintenance m stands.
func statusOf(
	waiting, out, failed int32, condition string, value metav1.ConditionStatus, reason string,
) map[string]slipwayv1alpha1.NodeMaintenanceStatus {
	return map[string]slipwayv1alpha1.NodeMaintenanceStatus{"m": {
		Nodes:      slipwayv1alpha1.MaintenanceNodeCounts{Waiting: waiting, Out: out, Failed: failed},
		Conditions: []metav1.Condition{{Type: condition, Status: value, Reason: reason}},
	}}
}

func TestTheControllerSaysHowMaintenancesStandUntilTheyAreOver(t *testing.T) {
	registry := prometheus.NewRegistry()
	told := sourceOf(t, Controller, kubernetesfake.NewClientset(), registry).Maintenances()
	expect := func(when string, want ...string) {
		t.Helper()
		got := exposed(t, registry, "maintenance_nodes", "maintenance_standing", "maintenance_progress_timestamp_seconds")
		if diff := cmp.Diff(strings.Join(want, "\n"), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("without any")
	told.Stand(statusOf(3, 1, 0, "Progressing", "True", "Running"), time.Unix(100, 0))
	told.Stand(statusOf(3, 1, 0, "Progressing", "True", "Running"), time.Unix(200, 0))
	expect("while it moves", "maintenance_nodes{maintenance=m,state=failed} 0", "maintenance_nodes{maintenance=m,state=out} 1",
		"maintenance_nodes{maintenance=m,state=returned} 0", "maintenance_nodes{maintenance=m,state=waiting} 3",
		"maintenance_progress_timestamp_seconds{maintenance=m} 100")
	told.Stand(statusOf(3, 0, 1, "Progressing", "False", "FailureThreshold"), time.Unix(300, 0))
	expect("when nothing moves", "maintenance_nodes{maintenance=m,state=failed} 1", "maintenance_nodes{maintenance=m,state=out} 0",
		"maintenance_nodes{maintenance=m,state=returned} 0", "maintenance_nodes{maintenance=m,state=waiting} 3",
		"maintenance_progress_timestamp_seconds{maintenance=m} 300", "maintenance_standing{maintenance=m,reason=FailureThreshold} 1")
	told.Stand(statusOf(0, 0, 0, "Completed", "True", "Completed"), time.Unix(400, 0))
	expect("when it is over")
}

func TestWhichMaintenancesAreToGetOn(t *testing.T) {
	for name, tc := range map[string]struct {
		standing, phase, reason string
		want                    bool
	}{
		"a node is back, and not healthy":         {"", "Unhealthy", "NodeNotReady", true},
		"somebody else holds the lease of a node": {"", "Held", "LeaseHeldByOthers", true},
		"an event is not claimed":                 {"", "Held", "Gated", true},
		"a Job is running":                        {"", "Working", "JobRunning", true},
		"a Job cannot be created":                 {"", "Held", "JobRefused", true},
		"pods leave":                              {"", "Draining", "", true},
		"a node returns":                          {"", "Returning", "", true},
		"pods do not leave":                       {"", "Draining", "Blocked", false},
		"another maintenance limits the drain":    {"", "Draining", "WaitingForOthers", false},
		"another maintenance has the node":        {"", "Returning", "WaitingForOthers", false},
		"a hook":                                  {"", "Held", "HookWaiting", false},
		"work of somebody's":                      {"", "Working", "WaitingForWork", false},
		"all nodes are drained":                   {"", "Drained", "", false},
		"it is paused":                            {"Paused", "Drained", "Paused", false},
		"it has failed":                           {"", "Failed", "JobFailed", false},
		"it waits, held back":                     {"", "Waiting", "DeadlockHeldBack", false},
		"nodes that are down are in its way":      {"MaxUnavailable", "", "", true},
		"nothing is begun, and nobody says why":   {"", "", "", true},
		"too many have failed":                    {"FailureThreshold", "", "", false},
		"its window is to come":                   {"BeforeWindow", "", "", false},
	} {
		s := slipwayv1alpha1.NodeMaintenanceStatus{Nodes: slipwayv1alpha1.MaintenanceNodeCounts{Waiting: 2}}
		if tc.phase != "" {
			s.Nodes.Out = 1
			s.NodeStatuses = []slipwayv1alpha1.MaintenanceNodeStatus{{
				Name: "a", Phase: slipwayv1alpha1.MaintenanceNodePhase(tc.phase), Reason: tc.reason,
			}}
		}
		if got := isStuck(s, tc.standing); got != tc.want {
			t.Errorf("%s: it is to get on: %t", name, got)
		}
		s.StageStatuses = []slipwayv1alpha1.MaintenanceStageStatus{{Name: slipwayv1alpha1.StageIdle}, {Name: slipwayv1alpha1.StageCordon}}
		if got := isStuck(s, tc.standing); got != (tc.want && tc.phase == "") {
			t.Errorf("%s, in stage Cordon: it is to get on: %t", name, got)
		}
	}
	if isStuck(slipwayv1alpha1.NodeMaintenanceStatus{}, "") {
		t.Error("one without nodes is to get on")
	}
}

func TestSinceWhenAMaintenanceIsToGetOn(t *testing.T) {
	registry := prometheus.NewRegistry()
	told := sourceOf(t, Controller, kubernetesfake.NewClientset(), registry).Maintenances()
	at := func(seconds int64, want string, phase slipwayv1alpha1.MaintenanceNodePhase, reason string, returned, pods int32) {
		t.Helper()
		told.Stand(map[string]slipwayv1alpha1.NodeMaintenanceStatus{"m": {
			Nodes:        slipwayv1alpha1.MaintenanceNodeCounts{Out: 1, Returned: returned},
			DrainStatus:  &slipwayv1alpha1.MaintenanceDrainStatus{PodsPending: pods},
			NodeStatuses: []slipwayv1alpha1.MaintenanceNodeStatus{{Name: "a", Phase: phase, Reason: reason}},
		}}, time.Unix(seconds, 0))
		if want != "" {
			want = "maintenance_stuck_timestamp_seconds{maintenance=m} " + want
		}
		if got := exposed(t, registry, "maintenance_stuck_timestamp_seconds"); got != want {
			t.Errorf("at %d: got %q, want %q", seconds, got, want)
		}
	}
	at(100, "100", "Draining", "", 0, 5)
	at(200, "100", "Draining", "", 0, 5)
	at(300, "300", "Draining", "", 0, 4)
	at(400, "", "Working", "WaitingForWork", 0, 0)
	at(500, "", "Working", "WaitingForWork", 0, 0)
	at(600, "600", "Unhealthy", "NodeNotReady", 0, 0) // it was not to get on before
	at(700, "600", "Unhealthy", "DaemonSetPodsNotReady", 0, 0)
	at(800, "800", "Draining", "", 1, 0)
}
