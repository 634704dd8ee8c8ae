// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycle/oversight"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/internal/node/hold"
	"github.com/slipway-k8s/slipway/internal/node/loop"
)

// BudgetObjections returns the causes for which drains of the nodes would wait for a NodeAvailabilityBudget now.
func (r Reader) BudgetObjections(ctx context.Context, nodes []string) (map[string]string, error) {
	var budgets []*availability.Budget
	if err := each[slipwayv1alpha1.NodeAvailabilityBudgetList](ctx, r.Client, func(b *availability.Budget) { budgets = append(budgets, b) }); err != nil {
		return nil, fmt.Errorf("list NodeAvailabilityBudgets: %w", err)
	}
	if len(budgets) == 0 {
		return nil, nil //nolint:nilnil // no budget objects
	}
	holds := map[string][]*hold.Hold{}
	if err := each[slipwayv1alpha1.NodeHoldList](ctx, r.Client, func(h *hold.Hold) {
		holds[h.Spec.NodeName] = append(holds[h.Spec.NodeName], h)
	}); err != nil {
		return nil, fmt.Errorf("list NodeHolds: %w", err)
	}
	var facts oversight.Facts
	if err := each[lifecyclev1alpha1.LifecycleEventList](ctx, r.Client, func(e *lifecyclev1alpha1.LifecycleEvent) {
		facts.PeerEvents = append(facts.PeerEvents, e)
	}); err != nil {
		return nil, fmt.Errorf("list LifecycleEvents: %w", err)
	}
	var err error
	if facts.Transitions, err = loop.Transitions(ctx, r.Client); err != nil {
		return nil, err
	}
	var all []availability.Node
	if err := each[corev1.NodeList](ctx, r.Client, func(n *corev1.Node) { all = append(all, availability.NodeOf(n, holds[n.Name])) }); err != nil {
		return nil, fmt.Errorf("list the nodes: %w", err)
	}
	all = oversight.WithEvents(all, oversight.TakingOut(facts, nil))
	objections := map[string]string{}
	for _, name := range nodes {
		if text := availability.Objection(budgets, all, name); text != "" {
			objections[name] = text
		}
	}
	return objections, nil
}
