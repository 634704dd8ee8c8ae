// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
)

// Admits lets the tests on a real control plane compare our copy of the server's rule with the server.
func Admits(pod *corev1.Pod, pdbs []policyv1.PodDisruptionBudget) (ok bool, reason Reason) {
	budgets := make([]*budget, len(pdbs))
	for i := range pdbs {
		budgets[i] = newBudget(&pdbs[i])
	}
	a := admit(pod, guards(pod, budgets))
	if a.refusal != nil {
		return false, a.refusal.reason
	}
	return true, ""
}

// Throttle gives a Drainer a rate limit: a fake clientset has none.
func (d *Drainer) Throttle(wait func(context.Context) error) { d.evictor.throttle = wait }
