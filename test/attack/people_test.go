// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// What policies refuse must not keep anybody from what is harmless.
func TestAnOperatorMayAskForWhatOverridesNothing(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.awaitRefusal(t, onRequests["have budgets overridden"])
	s.awaitRefusal(t, onRequests["ask in the name of another"])
	for name, try := range map[string]try{
		"parameters that override nothing":     ask(ofB, "", harmless),
		"parameters of a driver of others":     ask(ofB, "", others),
		"a change that overrides nothing":      patchEvent(waitingOf(ofB), parametersPatch(`"hold":true`)),
		"its own name as the requester":        ask(ofB, s.configs[operator].Impersonate.UserName, ""),
		"to open a gate that is not Slipway's": patchEvent(waitingOf(ofB), `{"spec":{"gates":null}}`),
		"to cancel":                            deleteClaimed(ofB),
	} {
		t.Run(name, func(t *testing.T) { s.succeeds(t, operator, try) })
	}
}

// Who may override gives others something that they may go on with.
func TestAnOperatorLeavesAnOverrideOfAnotherAlone(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.awaitRefusal(t, onRequests["have budgets overridden"])
	event := s.nodes[ofA].Event(s.nodes[ofA].EventName("overriding"), harness.Drain, harness.Gates(approval),
		func(e *lifecyclev1alpha1.LifecycleEvent) {
			e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(overriding)}
		})
	s.nodes[ofA].Expect(harness.Unfinished(event.Name), notWoundUp)
	pick := func(*scene) *lifecyclev1alpha1.LifecycleEvent { return event }

	s.succeeds(t, operator, patchEvent(pick, `{"spec":{"gates":null}}`))
	s.succeeds(t, operator, patchEvent(pick, `{"spec":{"parameters":null}}`))
	s.awaitRefusal(t, attempt{operator, patchEvent(pick, `{"spec":{"parameters":{"hold":true}}}`), byOverride, boss})
}

// The server says who asked.
func TestTheRequesterIsWhoCreatedTheEvent(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	s.succeeds(t, operator, ask(ofA, "", ""))
	for who, want := range map[string]string{
		operator: s.configs[operator].Impersonate.UserName, root: "admin", controller: controllerAccount,
	} {
		event := &lifecyclev1alpha1.LifecycleEvent{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "attack-"},
			Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: harness.Drain, BindingNode: "none"},
		}
		if err := s.as(t, who).kinds.Create(t.Context(), event, client.DryRunAll); err != nil {
			t.Fatal(err)
		}
		if event.Spec.RequestedBy != want {
			t.Errorf("requestedBy of an event of %s is %q, want %q", who, event.Spec.RequestedBy, want)
		}
	}
}
