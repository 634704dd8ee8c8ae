// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/forecast"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestNodesBeginAsPlanned has a maintenance planned by flags before it is there, and by its name
// before it begins. Both say the same, and the nodes then begin in these batches: three zones,
// with workers and a control plane.
func TestNodesBeginAsPlanned(t *testing.T) {
	s := newStage(t)
	c := &scene{stage: s, t: t, group: "planned"}
	c.nodes = s.env.Fleet(t, c.group, zones(6))
	for _, node := range c.nodes {
		c.pod(node)
	}
	name := c.group + "-night"
	byFlags := c.planned("maintain", name, "--plan", "-l", harness.GroupLabel+"="+c.group, "--work=none",
		"--max-unavailable=2", "--batches", "--topology-key="+corev1.LabelTopologyZone)
	m := c.maintainAs("night", nobody, in(slipwayv1alpha1.StageIdle), func(s *slipwayv1alpha1.NodeMaintenanceSpec) {
		s.Rollout = &slipwayv1alpha1.MaintenanceRollout{
			MaxUnavailable: new(intstr.FromInt32(2)), TopologyKey: corev1.LabelTopologyZone, Batches: true,
		}
	})
	byName := c.planned("plan", "--maintenance", name)
	batches := batchesOf(byFlags)
	if diff := cmp.Diff(batches, batchesOf(byName)); diff != "" {
		t.Errorf("by flags and by its name, the batches are (-flags +name):\n%s", diff)
	}
	if len(byName.Conditions) != 1 || len(byFlags.Conditions) != 0 || len(byFlags.Left)+len(byName.Left) != 0 {
		t.Errorf("it begins when %q, or %q; left are %v and %v", byFlags.Conditions, byName.Conditions, byFlags.Left, byName.Left)
	}
	begun := c.begun()
	p := start(t, c.env, "")
	m.Change(in(slipwayv1alpha1.StageDrain))
	m.AwaitCompleted()
	for i, batch := range batches {
		var got []string
		for range batch {
			got = append(got, begun())
		}
		slices.Sort(got)
		if diff := cmp.Diff(batch, got); diff != "" {
			t.Errorf("batch %d (-planned +begun):\n%s", i+1, diff)
		}
	}
	if after := c.planned("plan", "--maintenance", name); len(after.Batches) != 0 || len(after.Left) != len(c.nodes) || after.Left[0].State != forecast.LeftReturned {
		t.Errorf("after it, the plan still has batches %v, and left are %v", batchesOf(after), after.Left)
	}
	m.Delete()
	p.Stop()
}

// planned asks kubectl slipway, and wants that nothing would block.
func (c *scene) planned(arguments ...string) forecast.Forecast {
	c.t.Helper()
	arguments = append(arguments, "-o", "json", "--kubeconfig="+c.env.Facts.Kubeconfig)
	out, err := exec.CommandContext(c.t.Context(), harness.Binary(c.t, "kubectl-slipway"), arguments...).Output()
	var f forecast.Forecast
	if err != nil {
		c.t.Fatalf("kubectl slipway %q: %v\n%s", arguments, err, out)
	}
	c.must(json.Unmarshal(out, &f))
	return f
}

// batchesOf are the names of the nodes of each batch, which has to have a pod to leave on each.
func batchesOf(f forecast.Forecast) (all [][]string) {
	for _, b := range f.Batches {
		var names []string
		for _, n := range b.Nodes {
			names = append(names, n.Name)
			if n.Drain == nil || n.Drain.Leave != 1 {
				names = append(names, fmt.Sprintf("%s drains %+v", n.Name, n.Drain))
			}
		}
		slices.Sort(names)
		all = append(all, names)
	}
	return all
}

// begun gives the nodes of the scene in the order in which they begin, from now on.
func (c *scene) begun() (next func() string) {
	c.t.Helper()
	w, err := c.env.Client.Watch(c.t.Context(), &lifecyclev1alpha1.LifecycleEventList{},
		client.MatchingLabels{slipwayv1alpha1.MaintenanceEventLabel: "drain"})
	c.must(err)
	c.t.Cleanup(w.Stop)
	names := make(chan string, len(c.nodes))
	go func() {
		defer close(names)
		for e := range w.ResultChan() {
			event, ok := e.Object.(*lifecyclev1alpha1.LifecycleEvent)
			if ok && e.Type == watch.Added && slices.Contains(c.nodes, event.Spec.BindingNode) {
				names <- event.Spec.BindingNode
			}
		}
	}()
	return func() string {
		select {
		case name := <-names:
			return name
		case <-c.t.Context().Done():
			return "nobody"
		}
	}
}
