// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/maintenance/sharedpdbs"
)

// Facts are the input of a forecast.
type Facts struct {
	// Cluster is the input of a plan. Its Drains name no nodes: the forecast selects them. If Pods
	// is nil, the forecast predicts no drains.
	Cluster plan.Facts
	// Maintenances are the facts that the controller decides from. Their nodes have no budgets:
	// the forecast adds them. Jobs change nothing.
	Maintenances maintenance.Facts
	// Planned is the maintenance that is forecast. It is among the facts, even if it does not
	// exist yet.
	Planned types.UID
}

// Predict predicts a maintenance. It fails if the spec is invalid.
func Predict(f Facts) (Forecast, error) {
	of := f.planned()
	if of == nil {
		return Forecast{}, fmt.Errorf("there is no NodeMaintenance with UID %q among the facts", f.Planned)
	}
	request, err := requestOf(of)
	if err != nil {
		return Forecast{}, fmt.Errorf("NodeMaintenance %s: %w", of.Name, err)
	}
	ready, conditions := assumeUnblocked(of, f.Cluster.Now)
	facts := f.Maintenances
	facts.Maintenances = slices.Clone(facts.Maintenances)
	facts.Maintenances[slices.Index(facts.Maintenances, of)] = ready
	facts.Nodes = withBudgets(f)
	look, err := maintenance.Look(facts, f.Planned, f.Cluster.Now)
	if err != nil {
		return Forecast{}, err
	}
	if look.Reason == slipwayv1alpha1.ReasonInvalidSelector {
		return Forecast{}, fmt.Errorf("NodeMaintenance %s: %s", of.Name, look.Message)
	}
	r := rehearse(look, of.Spec.Rollout == nil, facts)
	result := Forecast{
		Maintenance: of.Name, Conditions: conditions, Batches: []Batch{}, Left: leftOf(r),
		Held: r.held, Unselected: f.unselected(look), Caveats: f.Cluster.Unread, NotLookedAt: assumed(of.Spec.Rollout == nil),
	}
	if of.Spec.Window != nil {
		result.Deadline = of.Spec.Window.Deadline
	}
	if of.Spec.Rollout != nil {
		result.TopologyKey = of.Spec.Rollout.TopologyKey
	}
	p := newPredictor(f, request, look)
	for i := range r.rounds {
		batch, err := p.batch(i+1, r.rounds[i])
		if err != nil {
			return Forecast{}, err
		}
		result.Batches = append(result.Batches, batch)
	}
	result.Impossible = impossible(result.Batches)
	result.NotLookedAt = append(result.NotLookedAt, p.notLookedAt...)
	return result, nil
}

func (f Facts) planned() *slipwayv1alpha1.NodeMaintenance {
	for _, m := range f.Maintenances.Maintenances {
		if m.UID == f.Planned {
			return m
		}
	}
	return nil
}

// unselected counts the nodes of the cluster that the maintenance does not select.
func (f Facts) unselected(look maintenance.Outlook) int {
	count := len(f.Maintenances.Nodes)
	for _, s := range look.Nodes {
		if s.Selected {
			count--
		}
	}
	return count
}

// requestOf returns the request of each node's drain, parsed as the driver parses it.
func requestOf(m *slipwayv1alpha1.NodeMaintenance) (drain.Request, error) {
	raw, err := json.Marshal(maintenance.Asked(m))
	if err != nil {
		return drain.Request{}, fmt.Errorf("encode the parameters of its drains: %w", err)
	}
	return drainparameters.Parse(raw)
}

// assumeUnblocked returns the maintenance as it is when its window has come and it is staged and
// resumed, and names these conditions.
func assumeUnblocked(m *slipwayv1alpha1.NodeMaintenance, now time.Time) (ready *slipwayv1alpha1.NodeMaintenance, conditions []string) {
	ready = m.DeepCopy()
	if m.Spec.Stage == slipwayv1alpha1.StageComplete || m.DeletionTimestamp != nil {
		return ready, nil
	}
	if !slices.Contains(ready.Finalizers, slipwayv1alpha1.MaintenanceFinalizer) {
		ready.Finalizers = append(ready.Finalizers, slipwayv1alpha1.MaintenanceFinalizer)
	}
	if m.Spec.Stage != slipwayv1alpha1.StageDrain {
		ready.Spec.Stage = slipwayv1alpha1.StageDrain
		stage := m.Spec.Stage
		if stage == "" {
			stage = slipwayv1alpha1.StageIdle
		}
		text := fmt.Sprintf("spec.stage is Drain: it is %s, and 'kubectl slipway maintenance stage %s drain' moves it on", stage, m.Name)
		if stage == slipwayv1alpha1.StageCordon && m.Spec.Rollout == nil {
			text += "; until then, the nodes are cordoned, and no pod leaves"
		}
		conditions = append(conditions, text)
	}
	if m.Spec.Paused {
		ready.Spec.Paused = false
		conditions = append(conditions, fmt.Sprintf("it is resumed: it is paused, and 'kubectl slipway maintenance resume %s' ends that", m.Name))
	}
	if w := m.Spec.Window; w != nil && w.NotBefore != nil && now.Before(w.NotBefore.Time) {
		ready.Spec.Window.NotBefore = nil
		conditions = append(conditions, w.NotBefore.UTC().Format(time.RFC3339)+" (spec.window.notBefore)")
	}
	return ready, conditions
}

// withBudgets returns the nodes with the budgets of their pods: nodes that share none start
// together.
func withBudgets(f Facts) []maintenance.Node {
	var pods []sharedpdbs.Pod
	for _, pod := range f.Cluster.Pods {
		if read, wanted := sharedpdbs.ReadPod(pod); wanted {
			pods = append(pods, read)
		}
	}
	var budgets []sharedpdbs.Budget
	for _, all := range f.Cluster.Drains.Budgets {
		for _, b := range all {
			if read, wanted := sharedpdbs.ReadBudget(b); wanted {
				budgets = append(budgets, read)
			}
		}
	}
	by := sharedpdbs.ByNode(pods, budgets)
	nodes := slices.Clone(f.Maintenances.Nodes)
	for i, n := range nodes {
		nodes[i].Budgets = by[n.Name]
	}
	return nodes
}
