// SPDX-License-Identifier: Apache-2.0

package forecast

import (
	"encoding/json"
	"fmt"
	"slices"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
	drainparameters "github.com/slipway-k8s/slipway/internal/drainer/parameters"
	"github.com/slipway-k8s/slipway/internal/kubectl/plan"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

// Of forecasts a maintenance. An error says that what it asks for is wrong.
func Of(f Facts) (Forecast, error) {
	of := f.planned()
	if of == nil {
		return Forecast{}, fmt.Errorf("there is no NodeMaintenance with UID %q among the facts", f.Planned)
	}
	request, err := requestOf(of)
	if err != nil {
		return Forecast{}, fmt.Errorf("NodeMaintenance %s: %w", of.Name, err)
	}
	ready, conditions := asIf(of, f.Cluster.Now)
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
	r := rehearse(look, of.Spec.Rollout == nil)
	result := Forecast{
		Maintenance: of.Name, Conditions: conditions, Deadline: deadlineOf(of), Batches: []Batch{}, Left: leftOf(r),
		Held: r.held, Unselected: f.unselected(look), Caveats: f.Cluster.Unread,
	}
	if of.Spec.Rollout != nil {
		result.TopologyKey = of.Spec.Rollout.TopologyKey
	}
	p := &predictor{facts: f, request: request, look: look}
	for i := range r.rounds {
		batch, err := p.batch(i+1, r.rounds[i])
		if err != nil {
			return Forecast{}, err
		}
		result.Batches = append(result.Batches, batch)
	}
	result.Impossible = impossible(result.Batches)
	result.NotLookedAt = append(assumed(of.Spec.Rollout == nil), plan.NotLookedAt(p.leaving)...)
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

// unselected counts the nodes of the cluster that the maintenance is not for.
func (f Facts) unselected(look maintenance.Outlook) int {
	count := len(f.Maintenances.Nodes)
	for _, s := range look.Nodes {
		if s.Selected {
			count--
		}
	}
	return count
}

// requestOf is what the drain of each node asks for, read as the driver reads it.
func requestOf(m *slipwayv1alpha1.NodeMaintenance) (drain.Request, error) {
	raw, err := json.Marshal(maintenance.Asked(m))
	if err != nil {
		return drain.Request{}, fmt.Errorf("encode the parameters of its drains: %w", err)
	}
	return drainparameters.Parse(raw)
}
