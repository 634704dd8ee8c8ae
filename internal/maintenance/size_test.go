// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// fleet is a world of 1,000 nodes with names as long as can be, and a maintenance of all.
func fleet(spec slipwayv1alpha1.NodeMaintenanceSpec) *world {
	w := newWorld()
	for i := range 1000 {
		w.addNode(fmt.Sprintf("n%04d%s", i, strings.Repeat(".abcdefghi", 24)), map[string]string{"pool": "all"})
	}
	spec.NodeSelector = poolSelector("all")
	m := w.addMaintenance("all", spec)
	m.Finalizers = []string{slipwayv1alpha1.MaintenanceFinalizer}
	return w
}

func TestTheStatusOf1000NodesThatHaveAllFailedIsSmall(t *testing.T) {
	w := fleet(slipwayv1alpha1.NodeMaintenanceSpec{Stage: slipwayv1alpha1.StageDrain, Rollout: &slipwayv1alpha1.MaintenanceRollout{FailureThreshold: new(int32(2000))}})
	m := w.maintenances["all"]
	for _, n := range w.nodes {
		n.records = []Record{{
			UID: m.UID, State: RecordFailed, Reason: "DrainFailed", Message: strings.Repeat("ä", maxNodeMessage), At: epoch, Cordon: "x",
		}}
		n.cordonedFor = []types.UID{"x"}
		n.node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionFalse}}
	}
	w.settle(false)
	status := w.maintenances["all"].Status
	raw, err := json.Marshal(status)
	if err != nil {
		t.Fatal(err)
	}
	if got, limit := len(raw), 256<<10; got > limit {
		t.Errorf("the status has %d bytes; want at most %d", got, limit)
	}
	if status.Nodes.Failed != 1000 || len(status.NodeStatuses) != maxListed {
		t.Errorf("%d have failed, %d are listed", status.Nodes.Failed, len(status.NodeStatuses))
	}
}

// TestWhatIsWrittenGrowsWithTheNodesInWork counts the steps of a whole rollout over the first
// two of 1,000 nodes.
func TestWhatIsWrittenGrowsWithTheNodesInWork(t *testing.T) {
	w := fleet(slipwayv1alpha1.NodeMaintenanceSpec{
		Stage:   slipwayv1alpha1.StageDrain,
		Rollout: &slipwayv1alpha1.MaintenanceRollout{PauseAfter: new(int32(2))},
		Work:    &slipwayv1alpha1.MaintenanceWork{Type: slipwayv1alpha1.WorkNone},
	})
	touched, steps := map[string]bool{}, 0
	for range 100 {
		decision := Next(w.facts(), w.now)
		for _, step := range decision.Steps {
			steps++
			switch s := step.(type) {
			case MarkNode:
				touched[s.Node] = true
			case RecordOnNode:
				touched[s.Node] = true
			case CreateEvent:
				touched[s.Event.Spec.BindingNode] = true
			}
			w.perform(step)
		}
		for uid, status := range decision.Statuses {
			w.writeStatus(uid, status)
		}
		w.others()
	}
	if got := w.maintenances["all"].Status.Nodes.Returned; got != 2 {
		t.Fatalf("%d nodes have returned", got)
	}
	if len(touched) != 2 || steps > 40 {
		t.Errorf("%d steps touched %d nodes", steps, len(touched))
	}
}

func BenchmarkNextOver1000NodesWithNoneInWork(b *testing.B) {
	w := fleet(slipwayv1alpha1.NodeMaintenanceSpec{
		Stage:   slipwayv1alpha1.StageDrain,
		Rollout: &slipwayv1alpha1.MaintenanceRollout{},
		Window:  &slipwayv1alpha1.MaintenanceWindow{NotBefore: &metav1.Time{Time: epoch.AddDate(1, 0, 0)}},
	})
	w.settle(false)
	facts := w.facts()
	b.ReportAllocs()
	for b.Loop() {
		if d := Next(facts, w.now); len(d.Steps) > 0 {
			b.Fatal("there is something to do")
		}
	}
}
