// SPDX-License-Identifier: Apache-2.0

package drainplan

import slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"

// Drained says whether the last step of a plan is over on a node: nothing is left there of
// what the plan is to move. It stays so while the node gets more for the sake of others.
func Drained(plan []slipwayv1alpha1.DrainTarget, n Node) bool {
	c := courseOf(Maintenance{Plan: plan})
	return c.overOn(placeOf(n)) == len(c.steps)
}

// Exceeds says whether targets go further than the first step of a plan: a maintenance with
// this plan that comes to a node with these targets is fast-forwarded there (KEP-4212).
func Exceeds(targets, plan []slipwayv1alpha1.DrainTarget) bool {
	steps := inOrder(entriesOf(plan))
	return len(steps) > 0 && highest(entriesOf(targets)).compare(steps[0].level()) > 0
}
