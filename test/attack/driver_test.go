// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// A driver of others has an account of its own, and the role slipway-driver.
var byADriver = map[string]attempt{
	"list events, as a driver":           {driverOn, listEvents, byRBAC, operator},
	"complete an event, as a driver":     {driverOn, complete(ofA), byRBAC, agentA},
	"protect an event, as a driver":      {driverOn, protect(ofA), byRBAC, agentA},
	"delete an event, as a driver":       {driverOn, deleteEnded(ofA), byRBAC, agentA},
	"ask for a drain, as a driver":       {driverOn, ask(ofA, "", ""), byRBAC, operator},
	"evict a pod, as a driver":           {driverOn, evictPodOf(ofA), byRBAC, nodeA},
	"cordon its node, as a driver":       {driverOn, cordon(ofA), byRBAC, nodeA},
	"read a Secret, as a driver":         {driverOn, readSecret, byRBAC, root},
	"publish for all, as a driver":       {driverOn, publishForAll, byTransitions, boss},
	"publish for another, as a driver":   {driverOn, publishFor(ofB), byTransitions, agentB},
	"withdraw, as a driver":              {driverOn, withdraw(ofA), byRBAC, agentA},
	"change a transition, as a driver":   {driverOn, changeTransition(harness.Drain), byRBAC, boss},
	"update a transition, as a driver":   {driverOn, updateTransition(harness.Drain), byTransitions, boss},
	"get the agent's token, as a driver": {driverOn, makeToken("slipway-node-agent"), byRBAC, root},
	"write a rule, as a driver":          {driverOn, writeRule("slipway-system"), byRBAC, boss},
}

func TestADriverCanPublishForItsNode(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.succeeds(t, driverOn, publishFor(ofA))
	s.succeeds(t, driverOn, func(ctx context.Context, _ *scene, h hand) error {
		return h.kinds.Get(ctx, client.ObjectKey{Name: harness.Drain}, &lifecyclev1alpha1.LifecycleTransition{})
	})
}

func listEvents(ctx context.Context, _ *scene, h hand) error {
	return h.kinds.List(ctx, &lifecyclev1alpha1.LifecycleEventList{})
}
