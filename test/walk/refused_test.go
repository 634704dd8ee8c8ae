// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	driverv1 "github.com/slipway-k8s/slipway/api/driver/v1alpha1"
	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// large is a JSON object of the given size.
func large(t *testing.T, size int) string {
	t.Helper()
	const frame = `{"a":""}`
	text, err := json.Marshal(map[string]string{"a": strings.Repeat("x", size-len(frame))})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// failedWith checks that an event failed, and that it says why.
func failedWith(t *testing.T, event *lifecyclev1alpha1.LifecycleEvent, reason, message string) {
	t.Helper()
	got := []string{string(event.Status.ClaimStatus), harness.Finished(event).Reason, harness.Finished(event).Message}
	if diff := cmp.Diff([]string{"Failed", reason, message}, got); diff != "" {
		t.Errorf("how %s ended (-want +got):\n%s", event.Name, diff)
	}
}

// What the API server cannot refuse, because it takes more than one object to see it,
// the agent does, before it calls anybody.
func TestTheAgentRefusesWhatDoesNotApply(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "refused")
	driver := &plainDriver{
		name:  "example.com/refused",
		start: func() *driverv1.LifecycleTransitionResponse { return state("from", "") },
		end:   func(int) *driverv1.LifecycleTransitionResponse { return state("to", "") },
	}
	driver.serve(t, node)
	node.Agent("", "--builtin-drivers=")
	for name, tc := range map[string]struct {
		spec            lifecyclev1alpha1.LifecycleTransitionSpec
		change          func(*lifecyclev1alpha1.LifecycleEvent)
		reason, message string // TRANSITION and NODE stand for the names
	}{
		"a transition of another node": {
			spec:    lifecyclev1alpha1.LifecycleTransitionSpec{NodeName: "another-node"},
			reason:  "TransitionDoesNotApply",
			message: `spec.bindingNode: LifecycleTransition "TRANSITION" does not apply to node "NODE": its spec.nodeName is "another-node"`,
		},
		"a transition of nodes with a label that this one has not": {
			spec: lifecyclev1alpha1.LifecycleTransitionSpec{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "gpu", Operator: corev1.NodeSelectorOpExists}},
			}}}},
			reason:  "TransitionDoesNotApply",
			message: `spec.bindingNode: LifecycleTransition "TRANSITION" does not apply to node "NODE": its spec.nodeSelector does not match the node's labels`,
		},
		"a transition whose selector means nothing": {
			spec: lifecyclev1alpha1.LifecycleTransitionSpec{NodeSelector: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: "gpu", Operator: "Around"}},
			}}}},
			reason: "TransitionDoesNotApply",
			message: `spec.bindingNode: LifecycleTransition "TRANSITION" does not apply to node "NODE": its spec.nodeSelector is not valid: ` +
				`nodeSelectorTerms[0].matchExpressions[0].operator: Unsupported value: "Around": ` +
				`supported values: "In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"`,
		},
		"parameters over 16 KiB": {
			spec:    lifecyclev1alpha1.LifecycleTransitionSpec{AllNodes: new(true)},
			change:  harness.RawParameters(large(t, 16<<10+1)),
			reason:  "InvalidParameters",
			message: "spec.parameters: 16385 bytes as JSON, at most 16384 are allowed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			tc.spec.Start, tc.spec.End, tc.spec.Driver = "from", "to", driver.name
			transition := &lifecyclev1alpha1.LifecycleTransition{ObjectMeta: metav1.ObjectMeta{GenerateName: "refused-"}, Spec: tc.spec}
			if err := env.Client.Create(t.Context(), transition); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { env.DeleteQuietly(transition) })
			changes := []func(*lifecyclev1alpha1.LifecycleEvent){harness.Kept}
			if tc.change != nil {
				changes = append(changes, tc.change)
			}
			event := node.Event(node.EventName(transition.Name), transition.Name, changes...)
			message := strings.NewReplacer("TRANSITION", transition.Name, "NODE", node.Name).Replace(tc.message)
			failedWith(t, env.Outcome(t, event.Name), tc.reason, message)
		})
	}
	driver.wantCalls(t)
}

func TestTheLargestParametersThatAreAllowedReachTheDriver(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "large")
	driver := &plainDriver{
		name:  "large.example.com",
		start: func() *driverv1.LifecycleTransitionResponse { return state("to", "") },
	}
	driver.serve(t, node)
	transition := transitionOf(t, env, node, "large."+node.Name, driver.name)
	h := node.Record()
	node.Agent("", "--builtin-drivers=")

	event := node.Event(node.EventName("large"), transition.Name, harness.RawParameters(large(t, 16<<10)))
	drained(t, env, h, event.Name)
}

func TestTheDrainDriverRefusesParametersThatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "parameters")
	node.Agent("")
	for name, tc := range map[string]struct{ transition, parameters, message string }{
		"a field that there is not": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "force": true}`,
			`spec.parameters: unknown field "force"`,
		},
		"a field in other letters": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "graceperiodseconds": 1}`,
			`spec.parameters: unknown field "graceperiodseconds"`,
		},
		"another kind": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "RebootParameters"}`,
			`spec.parameters: apiVersion "slipway.dev/v1alpha1" and kind "RebootParameters"; want "slipway.dev/v1alpha1" and "DrainParameters"`,
		},
		"no kind": {
			harness.Drain, `{"gracePeriodSeconds": 1}`,
			`spec.parameters: apiVersion "" and kind ""; want "slipway.dev/v1alpha1" and "DrainParameters"`,
		},
		"a version to come": {
			harness.Drain, `{"apiVersion": "slipway.dev/v2", "kind": "DrainParameters"}`,
			`spec.parameters: apiVersion "slipway.dev/v2" and kind "DrainParameters"; want "slipway.dev/v1alpha1" and "DrainParameters"`,
		},
		"a value of another type": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "gracePeriodSeconds": "1m"}`,
			`spec.parameters: json: cannot unmarshal string into Go struct field DrainParameters.gracePeriodSeconds of type int64`,
		},
		"a negative grace period": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "gracePeriodSeconds": -1}`,
			`spec.parameters.gracePeriodSeconds: -1 must be 1 or more`,
		},
		"a duration without a unit": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "podTimeout": "90"}`,
			`spec.parameters.podTimeout: "90" is not a duration; want one such as "90s" or "1h30m"`,
		},
		"a negative time until deletion": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "escalation": {"deleteAfter": "-1s"}}`,
			`spec.parameters.escalation.deleteAfter: -1s must not be negative`,
		},
		"a policy that there is not": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "localStorage": "Delete"}`,
			`spec.parameters.localStorage: "Delete" must be Evict or Refuse`,
		},
		"a type of pods that there is not": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "targets": [{"podType": "Default"}, {"podType": "Job"}]}`,
			`spec.parameters.targets[1].podType: "Job" must be Default, DaemonSet or Static`,
		},
		"a selector that selects nothing": {
			harness.Drain, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters", "targets": [{"podType": "Default",
				"podSelector": {"matchExpressions": [{"key": "app", "operator": "Around"}]}}]}`,
			`spec.parameters.targets[0].podSelector.matchExpressions[0].operator: Invalid value: "Around": not a valid selector operator`,
		},
		"parameters for a return": {
			harness.Return, `{"apiVersion": "slipway.dev/v1alpha1", "kind": "DrainParameters"}`,
			`spec.parameters: the return of a node takes only release: All: json: unknown field "apiVersion"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			event := node.Event(node.EventName("drain"), tc.transition, harness.Kept, harness.RawParameters(tc.parameters))
			failedWith(t, env.Outcome(t, event.Name), "DriverFailed", `driver "drain.slm.k8s.io": `+tc.message)
			uncordoned(t, node)
		})
	}
}

func TestAnAnswerThatBreaksTheContractFailsTheEvent(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "broken")
	driver := &plainDriver{name: "example.com/broken"}
	driver.serve(t, node)
	transition := transitionOf(t, env, node, "broken."+node.Name, driver.name)
	node.Agent("", "--builtin-drivers=")
	good := state("from", "")
	for name, tc := range map[string]struct {
		start, end      *driverv1.LifecycleTransitionResponse
		reason, message string
	}{
		"a state that is neither start nor end, to Start": {
			start: state("elsewhere", ""), reason: "InvalidAnswer",
			message: `answered StartLifecycleTransition with lifecycle_condition "elsewhere"; want "from" or "to"`,
		},
		"a state that is neither start nor end, to End": {
			start: good, end: state("elsewhere", ""), reason: "InvalidAnswer",
			message: `answered EndLifecycleTransition with lifecycle_condition "elsewhere"; want "from" or "to"`,
		},
		"another node's name": {
			start: good, end: state("to", "another-node"), reason: "InvalidAnswer",
			message: `answered EndLifecycleTransition with node_name "another-node"; the request was for node "` + node.Name + `"`,
		},
		"nothing, to End": {
			start: good, end: state("", ""), reason: "InvalidAnswer",
			message: `answered EndLifecycleTransition with an empty lifecycle_condition; want "from" or "to"`,
		},
		"5 MiB": {
			start: good, end: state(strings.Repeat("x", 5<<20), ""), reason: "InvalidAnswer",
			message: `answered EndLifecycleTransition with what cannot be received: grpc: received message larger than max (5242885 vs. 4194304)`,
		},
		"an error": {
			start: good, end: &driverv1.LifecycleTransitionResponse{Error: "the disk is on fire"}, reason: "DriverFailed",
			message: `the disk is on fire`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			driver.answer(tc.start, tc.end)
			event := node.Event(node.EventName("broken"), transition.Name, harness.Kept)
			ended := env.Outcome(t, event.Name)
			subject := `driver "example.com/broken" `
			if tc.reason == "DriverFailed" {
				subject = `driver "example.com/broken": `
			}
			failedWith(t, ended, tc.reason, subject+tc.message)
			node.Await("says so", func(n *corev1.Node) bool {
				for _, c := range n.Status.Conditions {
					if c.Type == lifecyclev1alpha1.NodeConditionLifecycleTransition {
						return c.Status == corev1.ConditionFalse && c.Reason == tc.reason && strings.Contains(c.Message, tc.message)
					}
				}
				return false
			})
		})
	}
}
