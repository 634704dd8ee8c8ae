// SPDX-License-Identifier: Apache-2.0

package attack

import (
	"context"
	"errors"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

const guardsGate = "slipway.dev/guards"

// Where guards are on, no event gets past them but by the controller's leave. They are on
// for the whole cluster, so this test has one of its own.
func TestTheGateOfTheGuards(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	env.Kubectl(t, "apply", "-f", harness.File(t, "config", "admission", "guards"))
	s := newSceneOn(t, env)
	guarded := &lifecyclev1alpha1.LifecycleEvent{}
	s.awaitGuarded(t, guarded)
	pick := func(*scene) *lifecyclev1alpha1.LifecycleEvent { return guarded }
	const opened, opensOther = `{"spec":{"gates":[{"name":"example.com/approval"}]}}`, `{"spec":{"gates":[{"name":"slipway.dev/guards"}]}}`

	s.awaitRefusal(t, attempt{operator, patchEvent(pick, opened), byGuards, controller})
	s.awaitRefusal(t, attempt{operator, patchEvent(pick, `{"spec":{"gates":null}}`), byGuards, controller})
	for _, who := range []string{controller, boss} {
		s.succeeds(t, who, patchEvent(pick, opened))
	}
	s.succeeds(t, operator, patchEvent(pick, opensOther))
	s.succeeds(t, operator, deleteEvent(pick))

	// Only the uncordon by a person ends a hold, and no forged note of it.
	const uncordoned = `{"metadata":{"annotations":{"slipway.dev/uncordoned-by":"alice"}}}`
	s.awaitRefusal(t, attempt{nodeA, patchNode(ofA, uncordoned), byNodeRecords, root})
	s.awaitRefusal(t, attempt{detector, patchNode(ofB, uncordoned, "status"), byNodeRecords, root})

	for name, tc := range map[string]struct {
		transition string
		gates      []string
		want       []string
	}{
		"a drain":                     {harness.Drain, nil, []string{guardsGate}},
		"a drain with a gate":         {harness.Drain, []string{approval}, []string{approval, guardsGate}},
		"a drain that has it already": {harness.Drain, []string{guardsGate, approval}, []string{guardsGate, approval}},
		"a transition of others":      {"firmware.example.com", nil, []string{guardsGate}},
		"the way back":                {harness.Return, nil, []string{guardsGate}},
		"the way back, with a gate":   {harness.Return, []string{approval}, []string{approval, guardsGate}},
	} {
		t.Run(name, func(t *testing.T) {
			event := guardable(tc.transition, tc.gates...)
			if err := s.as(t, boss).kinds.Create(t.Context(), event, client.DryRunAll); err != nil {
				t.Fatal(err)
			}
			if got := gatesOf(event); !slices.Equal(got, tc.want) {
				t.Errorf("gates are %q, want %q", got, tc.want)
			}
		})
	}
}

// awaitGuarded creates an event, once the policy is in force, with two gates.
func (s *scene) awaitGuarded(t *testing.T, event *lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	s.succeeds(t, operator, func(ctx context.Context, _ *scene, h hand) error {
		wanted := guardable(harness.Drain)
		if err := h.kinds.Create(ctx, wanted, client.DryRunAll); err != nil {
			return err
		}
		if !slices.Contains(gatesOf(wanted), guardsGate) {
			return errors.New("the policy is not in force")
		}
		return nil
	})
	*event = *guardable(harness.Drain, approval)
	s.create(t, event)
}

func guardable(transition string, gates ...string) *lifecyclev1alpha1.LifecycleEvent {
	event := &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "guarded-"},
		Spec:       lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: "none"},
	}
	harness.Gates(gates...)(event)
	return event
}

func gatesOf(event *lifecyclev1alpha1.LifecycleEvent) (names []string) {
	for _, gate := range event.Spec.Gates {
		names = append(names, gate.Name)
	}
	return names
}
