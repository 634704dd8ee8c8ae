// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"slices"
	"strings"
	"testing"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	draindriver "github.com/slipway-k8s/slipway/internal/drainer/driver"
	"github.com/slipway-k8s/slipway/test/auditlog"
	"github.com/slipway-k8s/slipway/test/harness"
)

// publishDrain creates the transitions of a drain driver with another name than Slipway's:
// they are for all nodes, so that no driver may. It returns the name of the drain.
func publishDrain(t *testing.T, e *harness.Env, driver string) string {
	t.Helper()
	transitions := draindriver.Transitions(driver, draindriver.DefaultSLA)
	for _, transition := range transitions {
		e.Create(t, &transition)
	}
	return transitions[0].Name
}

// onlyOn is a change of a transition: it is for one node.
func onlyOn(node *harness.Node) func(*lifecyclev1alpha1.LifecycleTransition) {
	return func(t *lifecyclev1alpha1.LifecycleTransition) { t.Spec.AllNodes, t.Spec.NodeName = nil, node.Name }
}

// lastStatusWrite returns the last write of the status of an event.
func lastStatusWrite(t *testing.T, n *harness.Node, event string) auditlog.Request {
	t.Helper()
	for _, request := range slices.Backward(n.Writes()) {
		if request.Subresource == "status" && request.Resource == "lifecycleevents" && request.Name == event {
			return request
		}
	}
	t.Fatalf("the audit log has no write of the status of %s", event)
	return auditlog.Request{}
}

// mostClaimed returns the greatest number of events that were Claimed at one moment.
func mostClaimed(h *harness.History) int {
	claimed, most := map[string]bool{}, 0
	for _, line := range h.Lines() {
		object, state, _ := strings.Cut(line, " ")
		delete(claimed, object)
		if state == string(lifecyclev1alpha1.Claimed) {
			claimed[object] = true
		}
		most = max(most, len(claimed))
	}
	return most
}

// lastWrite returns the last of [Node.Writes], as a line.
func lastWrite(n *harness.Node) string {
	writes := n.Writes()
	if len(writes) == 0 {
		return "no write"
	}
	return writes[len(writes)-1].String()
}
