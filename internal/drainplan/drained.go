// SPDX-License-Identifier: Apache-2.0

package drainplan

import slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"

// Drained says whether nothing is left on a node of what a plan is to move.
func Drained(plan []slipwayv1alpha1.DrainTarget, n Node) bool {
	return n.Reached && cover(entriesOf(n.Targets), courseOf(Maintenance{Plan: plan}).upTo(top))
}

// Exceeds says whether targets go further than the first step of a plan: a maintenance with
// this plan that comes to a node with these targets is fast-forwarded there (KEP-4212).
func Exceeds(targets, plan []slipwayv1alpha1.DrainTarget) bool {
	steps := inOrder(entriesOf(plan))
	return len(steps) > 0 && highest(entriesOf(targets)).compare(steps[0].level()) > 0
}
