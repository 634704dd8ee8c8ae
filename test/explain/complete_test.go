// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-k8s/slipway/internal/reasons"
)

// alone are the codes whose tests disturb the whole cluster, and are in disturb_test.go and responders_test.go, and those
// that take a real machine: test/realnode.
var alone = []string{
	"NodeTaintMissing", "BudgetNotObserved", "NamespaceTerminating", // the control plane stands still
	"APIServerUnavailable", "ReadRefused", "RuleInvalid",
	"AwaitingResponder", "ResponderMissing", "RespondersFailed", "EvictionAPIMissing", // what the server serves changes
	"StaticPodStays", "StaticPodLeft", // a kubelet reads their files
}

func TestEachReasonOfADrainIsProvokedHere(t *testing.T) {
	provoked := slices.Clone(alone)
	for name := range troubles {
		code, _, _ := strings.Cut(name, " ")
		provoked = append(provoked, code)
	}
	var known []string
	for _, e := range reasons.Entries() {
		if e.Place == reasons.Blocker {
			known = append(known, e.Code)
		}
	}
	slices.Sort(provoked)
	if diff := cmp.Diff(known, slices.Compact(provoked)); diff != "" {
		t.Errorf("reason codes (-in the catalogue +provoked by tests):\n%s", diff)
	}
}
