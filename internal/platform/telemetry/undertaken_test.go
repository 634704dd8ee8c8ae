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
