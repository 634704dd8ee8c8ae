// SPDX-License-Identifier: Apache-2.0

package observe

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestWhatHappensToAMaintenanceIsToldOnce(t *testing.T) {
	clients := kubernetesfake.NewClientset()
	w, err := clients.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	nm := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "m-uid"}}
	m := sourceOf(t, Controller, clients, prometheus.NewRegistry()).Maintenances()
	m.Tell(nm, false, "NodeReturned", "node a")
	m.Tell(nm, false, "NodeReturned", "node a")
	m.Tell(nm, true, "NodeFailed", "node b")
	for _, want := range []string{
		"ADDED default NodeMaintenance m-uid NodeReturned",
		"ADDED default NodeMaintenance m-uid NodeFailed",
	} {
		if got := next(t, w); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	m.Forget(nm.UID)
	if len(m.told) != 0 {
		t.Error("what was told of a maintenance that is gone is remembered")
	}
}
