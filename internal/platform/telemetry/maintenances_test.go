// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"errors"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubernetesfake "k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/client-go/tools/record"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestWhatHappensToAMaintenanceIsToldOnce(t *testing.T) {
	nm := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "m-uid"}}
	other := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "another"}}
	recorder := record.NewFakeRecorder(10)
	recorder.IncludeObject = true
	m := &Maintenances{recorder: recorder, reported: reported{}}
	m.Tell(nm, false, "NodeReturned", "node a")
	m.Tell(nm, false, "NodeReturned", "node a")
	m.Tell(nm, true, "NodeFailed", "node b")
	m.Tell(other, false, "NodeReturned", "node a")
	close(recorder.Events)
	var got []string
	for said := range recorder.Events {
		got = append(got, said)
	}
	const of = " involvedObject{kind=NodeMaintenance,apiVersion=slipway.dev/v1alpha1} map[slipway.dev/notice:"
	want := []string{
		"Normal NodeReturned node a" + of + "m-uid NodeReturned node a]",
		"Warning NodeFailed node b" + of + "m-uid NodeFailed node b]",
		"Normal NodeReturned node a" + of + "another NodeReturned node a]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	m.Forget(nm.UID)
	if _, remembered := m.reported[nm.UID]; remembered || len(m.reported) != 1 {
		t.Error("what was told of a maintenance that is gone is remembered, or of another one is not")
	}
}

// The error that is injected is that the server refuses the first core Event.
func TestACoreEventThatIsRefusedHoldsUpNoOther(t *testing.T) {
	clients := kubernetesfake.NewClientset()
	w, err := clients.CoreV1().Events("").Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var tried atomic.Int32
	clients.PrependReactor("create", "events", func(clienttesting.Action) (bool, runtime.Object, error) {
		return tried.Add(1) == 1, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "m", errors.New("no right"))
	})
	nm := &slipwayv1alpha1.NodeMaintenance{ObjectMeta: metav1.ObjectMeta{Name: "m", UID: "m-uid"}}
	m := sourceOf(t, Controller, clients, prometheus.NewRegistry()).Maintenances()
	m.Tell(nm, false, "NodeReturned", "node a")
	m.Tell(nm, true, "NodeFailed", "node b")
	if got, want := next(t, w), "ADDED default NodeMaintenance m-uid NodeFailed"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
