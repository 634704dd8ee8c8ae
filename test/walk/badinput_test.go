// SPDX-License-Identifier: Apache-2.0

package walk

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// object is an object of one of the two kinds, with a name that nobody else has. The
// spec is YAML.
func object(t *testing.T, env *harness.Env, kind, spec string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{Object: map[string]any{}}
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o.Object["spec"] = content
	o.SetAPIVersion(env.Group + "/v1alpha1")
	o.SetKind(kind)
	o.SetGenerateName("bad-input-")
	return o
}

// create creates the object, and has it deleted when the test ends.
func create(t *testing.T, env *harness.Env, o *unstructured.Unstructured) {
	t.Helper()
	if err := env.Client.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { env.DeleteQuietly(o) })
}

func TestTheAPIServerRefusesBadInput(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	const transition, event = "LifecycleTransition", "LifecycleEvent"
	for name, tc := range map[string]struct {
		kind, spec string
		want       []string
	}{
		"a transition for no nodes": {
			transition, `{start: a, end: b, driver: d}`,
			[]string{"spec: Invalid value", "exactly one of spec.nodeName, spec.nodeSelector and spec.allNodes must be set"},
		},
		"a transition for one node and for all": {
			transition, `{start: a, end: b, driver: d, nodeName: n1, allNodes: true}`,
			[]string{"exactly one of spec.nodeName, spec.nodeSelector and spec.allNodes must be set"},
		},
		"a transition for one node and for those of a selector": {
			transition, `{start: a, end: b, driver: d, nodeName: n1, nodeSelector: {nodeSelectorTerms: [{}]}}`,
			[]string{"exactly one of spec.nodeName, spec.nodeSelector and spec.allNodes must be set"},
		},
		"a transition not for all nodes": {
			transition, `{start: a, end: b, driver: d, allNodes: false}`,
			[]string{"spec.allNodes: Invalid value: false", "spec.allNodes must be true or left out"},
		},
		"a node name that is none": {
			transition, `{start: a, end: b, driver: d, nodeName: Node_1}`,
			[]string{`spec.nodeName: Invalid value: "Node_1"`, "should match"},
		},
		"a node name that is empty": {
			transition, `{start: a, end: b, driver: d, nodeName: ""}`,
			[]string{`spec.nodeName: Invalid value: ""`, "at least 1 chars long"},
		},
		"a selector with two terms": {
			transition, `{start: a, end: b, driver: d, nodeSelector: {nodeSelectorTerms: [{}, {}]}}`,
			[]string{"spec.nodeSelector.nodeSelectorTerms: Invalid value", "spec.nodeSelector must have exactly one term"},
		},
		"a selector with no term": {
			transition, `{start: a, end: b, driver: d, nodeSelector: {nodeSelectorTerms: []}}`,
			[]string{"spec.nodeSelector.nodeSelectorTerms: Invalid value", "spec.nodeSelector must have exactly one term"},
		},
		"an end that is the start": {
			transition, `{start: a, end: a, driver: d, allNodes: true}`,
			[]string{"spec.end: Invalid value", "spec.start and spec.end must differ"},
		},
		"no start": {
			transition, `{end: b, driver: d, allNodes: true}`,
			[]string{"spec.start: Required value"},
		},
		"a start that is not fit for a condition's reason": {
			transition, `{start: "drain started", end: b, driver: d, allNodes: true}`,
			[]string{`spec.start: Invalid value: "drain started"`, "should match"},
		},
		"a transition with a negative sla": {
			transition, `{start: a, end: b, driver: d, allNodes: true, sla: -5m}`,
			[]string{`spec.sla: Invalid value: "-5m"`, "spec.sla must be greater than 0"},
		},
		"a transition with an sla of zero": {
			transition, `{start: a, end: b, driver: d, allNodes: true, sla: 0s}`,
			[]string{`spec.sla: Invalid value: "0s"`, "spec.sla must be greater than 0"},
		},
		"an sla without a unit": {
			transition, `{start: a, end: b, driver: d, allNodes: true, sla: "300"}`,
			[]string{`spec.sla: Invalid value: "300"`, "duration"},
		},
		"an sla of days, which Go programs cannot read": {
			transition, `{start: a, end: b, driver: d, allNodes: true, sla: 1d}`,
			[]string{`spec.sla: Invalid value: "1d"`, "should match"},
		},
		"no driver": {
			transition, `{start: a, end: b, allNodes: true}`,
			[]string{"spec.driver: Required value"},
		},
		"a driver name with capitals": {
			transition, `{start: a, end: b, driver: Drain, allNodes: true}`,
			[]string{`spec.driver: Invalid value: "Drain"`, "should match"},
		},
		"a driver name that is a path": {
			transition, `{start: a, end: b, driver: ../../etc/passwd, allNodes: true}`,
			[]string{`spec.driver: Invalid value: "../../etc/passwd"`, "should match"},
		},
		"a driver name with two slashes": {
			transition, `{start: a, end: b, driver: example.com/a/b, allNodes: true}`,
			[]string{`spec.driver: Invalid value: "example.com/a/b"`, "should match"},
		},
		"a transition of devices on all nodes": {
			transition, `{start: a, end: b, driver: d, allNodes: true, targetRef: {kind: ResourceSlice, name: gpus}}`,
			[]string{"spec.targetRef: Invalid value", "spec.targetRef is reserved: a transition is for nodes"},
		},

		"an event of a device": {
			event, `{transitionName: a, bindingNode: n1, targetRef: {kind: ResourceSlice, name: gpu-0}}`,
			[]string{"spec.targetRef: Invalid value", "spec.targetRef is reserved: the target of an event is the node in spec.bindingNode"},
		},
		"an event of an empty target": {
			event, `{transitionName: a, bindingNode: n1, targetRef: {}}`,
			[]string{"spec.targetRef: Invalid value", "spec.targetRef is reserved"},
		},
		"an event of a target that is a name": {
			event, `{transitionName: a, bindingNode: n1, targetRef: gpu-0}`,
			[]string{"spec.targetRef: Invalid value", "must be of type object"},
		},
		"an event without a transition": {
			event, `{bindingNode: n1}`,
			[]string{"spec.transitionName: Required value"},
		},
		"an event without a node": {
			event, `{transitionName: a}`,
			[]string{"spec.bindingNode: Required value"},
		},
		"an event for a node whose name is none": {
			event, `{transitionName: a, bindingNode: "n1 n2"}`,
			[]string{`spec.bindingNode: Invalid value: "n1 n2"`, "should match"},
		},
		"an event with a negative sla": {
			event, `{transitionName: a, bindingNode: n1, sla: -1s}`,
			[]string{`spec.sla: Invalid value: "-1s"`, "spec.sla must be greater than 0"},
		},
		"an event with an sla of zero": {
			event, `{transitionName: a, bindingNode: n1, sla: 0h}`,
			[]string{`spec.sla: Invalid value: "0h"`, "spec.sla must be greater than 0"},
		},
		"an event with an sla of weeks": {
			event, `{transitionName: a, bindingNode: n1, sla: 1 week}`,
			[]string{`spec.sla: Invalid value: "1 week"`, "should match"},
		},
		"parameters that are no object": {
			event, `{transitionName: a, bindingNode: n1, parameters: [1, 2]}`,
			[]string{"spec.parameters: Invalid value", "must be of type object"},
		},
		"a gate whose name is no key": {
			event, `{transitionName: a, bindingNode: n1, gates: [{name: "an approval"}]}`,
			[]string{`spec.gates[0].name: Invalid value: "an approval"`, "should match"},
		},
		"a gate that is there twice": {
			event, `{transitionName: a, bindingNode: n1, gates: [{name: g}, {name: g}]}`,
			[]string{"spec.gates[1]: Duplicate value"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := env.Client.Create(t.Context(), object(t, env, tc.kind, tc.spec))
			harness.Refused(t, err, served(env, tc.want)...)
		})
	}
}

func TestTheAPIServerRefusesForbiddenChanges(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	const transition, event = "LifecycleTransition", "LifecycleEvent"
	for name, tc := range map[string]struct {
		kind, spec, change string // change is a merge patch
		want               []string
	}{
		"another node for a transition": {
			transition, `{start: a, end: b, driver: d, nodeName: n1}`, `{spec: {nodeName: n2}}`,
			[]string{"spec.nodeName: Invalid value", "spec.nodeName is immutable"},
		},
		"another selector": {
			transition, `{start: a, end: b, driver: d, nodeSelector: {nodeSelectorTerms: [{}]}}`,
			`{spec: {nodeSelector: {nodeSelectorTerms: [{matchExpressions: [{key: k, operator: Exists}]}]}}}`,
			[]string{"spec.nodeSelector: Invalid value", "spec.nodeSelector is immutable"},
		},
		"all nodes instead of one": {
			transition, `{start: a, end: b, driver: d, nodeName: n1}`, `{spec: {nodeName: null, allNodes: true}}`,
			[]string{"spec.nodeName, spec.nodeSelector and spec.allNodes are immutable"},
		},
		"one node instead of all": {
			transition, `{start: a, end: b, driver: d, allNodes: true}`, `{spec: {nodeName: n1, allNodes: null}}`,
			[]string{"spec.nodeName, spec.nodeSelector and spec.allNodes are immutable"},
		},

		"another transition for an event": {
			event, `{transitionName: a, bindingNode: n1}`, `{spec: {transitionName: b}}`,
			[]string{`spec.transitionName: Invalid value: "b"`, "spec.transitionName is immutable"},
		},
		"another node for an event": {
			event, `{transitionName: a, bindingNode: n1}`, `{spec: {bindingNode: n2}}`,
			[]string{`spec.bindingNode: Invalid value: "n2"`, "spec.bindingNode is immutable"},
		},
		"another sla": {
			event, `{transitionName: a, bindingNode: n1, sla: 5m}`, `{spec: {sla: 6m}}`,
			[]string{`spec.sla: Invalid value`, "spec.sla is immutable"},
		},
		"an sla where there was none": {
			event, `{transitionName: a, bindingNode: n1}`, `{spec: {sla: 6m}}`,
			[]string{`spec.sla: Invalid value`, "spec.sla is immutable"},
		},
		"no sla where there was one": {
			event, `{transitionName: a, bindingNode: n1, sla: 5m}`, `{spec: {sla: null}}`,
			[]string{`spec.sla: Invalid value`, "spec.sla is immutable"},
		},
		"another requester": {
			event, `{transitionName: a, bindingNode: n1, requestedBy: admin}`, `{spec: {requestedBy: bob}}`,
			[]string{`spec.requestedBy: Invalid value`, "spec.requestedBy is immutable"},
		},
		"no requester, where the event said none and the server did": {
			event, `{transitionName: a, bindingNode: n1}`, `{spec: {requestedBy: null}}`,
			[]string{`spec.requestedBy: Invalid value`, "spec.requestedBy is immutable"},
		},
		"one more gate": {
			event, `{transitionName: a, bindingNode: n1, gates: [{name: g}]}`, `{spec: {gates: [{name: g}, {name: h}]}}`,
			[]string{`spec.gates: Invalid value`, "spec.gates can be removed, not added"},
		},
		"another gate in the place of one": {
			event, `{transitionName: a, bindingNode: n1, gates: [{name: g}]}`, `{spec: {gates: [{name: h}]}}`,
			[]string{`spec.gates: Invalid value`, "spec.gates can be removed, not added"},
		},
		"a gate where there was none": {
			event, `{transitionName: a, bindingNode: n1}`, `{spec: {gates: [{name: g}]}}`,
			[]string{`spec.gates: Invalid value`, "spec.gates can be removed, not added"},
		},
	} {
		if env.Reduced() && strings.Contains(name, "the server did") {
			continue // no policy sets the requester before Kubernetes 1.36
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(t, env, tc.kind, tc.spec)
			create(t, env, o)
			harness.Refused(t, env.Client.Patch(t.Context(), o, mergePatch(t, tc.change)), served(env, tc.want)...)
		})
	}
}

// served returns the texts of the errors without the rejected values, which Kubernetes has in its errors since 1.36.
func served(env *harness.Env, texts []string) (all []string) {
	for _, text := range texts {
		if before, _, found := strings.Cut(text, "Invalid value: "); found && env.Reduced() {
			text = before + "Invalid value"
		}
		all = append(all, text)
	}
	return all
}

func TestTheAPIServerAllowsTheseChanges(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for name, tc := range map[string]struct{ kind, spec, change string }{
		"other states, another driver and sla for a transition": {
			"LifecycleTransition", `{start: a, end: b, driver: d, nodeName: n1, sla: 5m}`,
			`{spec: {start: c, end: e, driver: example.com/d, sla: 1h30m}}`,
		},
		"other parameters": {
			"LifecycleEvent", `{transitionName: a, bindingNode: n1, parameters: {kind: X, a: 1}}`,
			`{spec: {parameters: {kind: Y, a: null, b: {c: [1]}}}}`,
		},
		"one gate less": {
			"LifecycleEvent", `{transitionName: a, bindingNode: n1, gates: [{name: g}, {name: h}]}`,
			`{spec: {gates: [{name: h}]}}`,
		},
		"no gates": {
			"LifecycleEvent", `{transitionName: a, bindingNode: n1, gates: [{name: g}]}`, `{spec: {gates: null}}`,
		},
		"another reason": {
			"LifecycleEvent", `{transitionName: a, bindingNode: n1, reason: one}`, `{spec: {reason: another}}`,
		},
		"the same sla, written in another way": {
			"LifecycleEvent", `{transitionName: a, bindingNode: n1, sla: 90m}`, `{spec: {sla: 1h30m0s}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(t, env, tc.kind, tc.spec)
			create(t, env, o)
			if err := env.Client.Patch(t.Context(), o, mergePatch(t, tc.change)); err != nil {
				t.Error(err)
			}
		})
	}
}

func mergePatch(t *testing.T, text string) client.Patch {
	t.Helper()
	patch, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return client.RawPatch(types.MergePatchType, patch)
}

// The phases of an event go one way, whoever writes them.
func TestThePhaseOfAnEventGoesOneWay(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	ways := map[lifecyclev1alpha1.ClaimStatus][]lifecyclev1alpha1.ClaimStatus{ // how to come to a phase
		lifecyclev1alpha1.Pending:    nil,
		lifecyclev1alpha1.Claimed:    {lifecyclev1alpha1.Claimed},
		lifecyclev1alpha1.Succeeded:  {lifecyclev1alpha1.Claimed, lifecyclev1alpha1.Succeeded},
		lifecyclev1alpha1.SlaExpired: {lifecyclev1alpha1.Claimed, lifecyclev1alpha1.SlaExpired},
		lifecyclev1alpha1.Failed:     {lifecyclev1alpha1.Failed},
	}
	allowed := map[lifecyclev1alpha1.ClaimStatus]map[lifecyclev1alpha1.ClaimStatus]bool{
		lifecyclev1alpha1.Pending: {lifecyclev1alpha1.Claimed: true, lifecyclev1alpha1.Failed: true},
		lifecyclev1alpha1.Claimed: {lifecyclev1alpha1.Succeeded: true, lifecyclev1alpha1.Failed: true, lifecyclev1alpha1.SlaExpired: true},
	}
	for from, way := range ways {
		for to := range ways {
			t.Run(fmt.Sprintf("from %s to %s", from, to), func(t *testing.T) {
				t.Parallel()
				o := object(t, env, "LifecycleEvent", `{transitionName: a, bindingNode: nobody}`)
				create(t, env, o)
				for _, phase := range way {
					if err := writePhase(t, env, o, phase); err != nil {
						t.Fatal(err)
					}
				}
				err := writePhase(t, env, o, to)
				if from == to || allowed[from][to] {
					if err != nil {
						t.Error(err)
					}
					return
				}
				harness.Refused(t, err, "status.claimStatus: Invalid value", "status.claimStatus goes from Pending to Claimed or Failed")
			})
		}
	}
}

func writePhase(t *testing.T, env *harness.Env, o *unstructured.Unstructured, phase lifecyclev1alpha1.ClaimStatus) error {
	t.Helper()
	return env.Client.Status().Patch(t.Context(), o, mergePatch(t, fmt.Sprintf("{status: {claimStatus: %s}}", phase)))
}

func TestTheStatusOfAnEventIsHeldToItsForm(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for name, tc := range map[string]struct {
		before, change string // merge patches
		want           []string
	}{
		"a phase that there is not": {
			"{}", `{status: {claimStatus: Running}}`,
			[]string{`status.claimStatus: Unsupported value: "Running"`},
		},
		"another claimer": {
			`{status: {claimStatus: Claimed, claimedBy: {kind: NodeAgent, identity: n1}}}`,
			`{status: {claimedBy: {kind: NodeAgent, identity: n2}}}`,
			[]string{"status.claimedBy: Invalid value", "status.claimedBy is immutable once set"},
		},
		"no claimer any more": {
			`{status: {claimStatus: Claimed, claimedBy: {kind: NodeAgent, identity: n1}}}`,
			`{status: {claimedBy: null}}`,
			[]string{"status.claimedBy: Invalid value", "status.claimedBy is immutable once set"},
		},
		"a claimer whose kind is not a name in CamelCase": {
			"{}", `{status: {claimStatus: Claimed, claimedBy: {kind: the kubelet, identity: n1}}}`,
			[]string{`status.claimedBy.kind: Invalid value: "the kubelet"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := object(t, env, "LifecycleEvent", `{transitionName: a, bindingNode: nobody}`)
			create(t, env, o)
			if err := env.Client.Status().Patch(t.Context(), o, mergePatch(t, tc.before)); err != nil {
				t.Fatal(err)
			}
			harness.Refused(t, env.Client.Status().Patch(t.Context(), o, mergePatch(t, tc.change)), tc.want...)
		})
	}
}

// Users write the spec, the claimer writes the status, and neither can write the
// other's by mistake.
func TestSpecAndStatusAreWrittenApart(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	o := object(t, env, "LifecycleEvent", `{transitionName: a, bindingNode: nobody}`)
	o.Object["status"] = map[string]any{"claimStatus": "Succeeded", "state": "b"}
	create(t, env, o)
	wantContent(t, o, "status", `{"claimStatus":"Pending"}`)

	if err := env.Client.Patch(t.Context(), o, mergePatch(t, `{spec: {reason: why}, status: {claimStatus: Claimed}}`)); err != nil {
		t.Fatal(err)
	}
	wantContent(t, o, "status", `{"claimStatus":"Pending"}`)

	if err := env.Client.Status().Patch(t.Context(), o, mergePatch(t, `{spec: {reason: none}, status: {claimStatus: Claimed}}`)); err != nil {
		t.Fatal(err)
	}
	wantContent(t, o, "spec", `{"bindingNode":"nobody","reason":"why","requestedBy":"admin","transitionName":"a"}`)
	wantContent(t, o, "status", `{"claimStatus":"Claimed"}`)
}

func wantContent(t *testing.T, o *unstructured.Unstructured, field, want string) {
	t.Helper()
	got, err := json.Marshal(o.Object[field])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s", field, diff)
	}
}

func TestObjectsAreSelectedByTheirFields(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	here := object(t, env, "LifecycleEvent", `{transitionName: a, bindingNode: selected-here}`)
	there := object(t, env, "LifecycleEvent", `{transitionName: a, bindingNode: selected-there}`)
	ours := object(t, env, "LifecycleTransition", `{start: a, end: b, driver: example.com/selected, nodeName: selected-here}`)
	theirs := object(t, env, "LifecycleTransition", `{start: a, end: b, driver: example.com/other, nodeName: selected-there}`)
	for _, o := range []*unstructured.Unstructured{here, there, ours, theirs} {
		create(t, env, o)
	}
	for name, tc := range map[string]struct {
		kind, selector, want string
	}{
		"events by node":            {"lifecycleevents", "spec.bindingNode=selected-here", here.GetName()},
		"transitions by node":       {"lifecycletransitions", "spec.nodeName=selected-here", ours.GetName()},
		"transitions by driver":     {"lifecycletransitions", "spec.driver=example.com/selected", ours.GetName()},
		"events by short name":      {"lce", "spec.bindingNode=selected-there", there.GetName()},
		"transitions by short name": {"lct", "spec.nodeName=selected-there", theirs.GetName()},
	} {
		t.Run(name, func(t *testing.T) {
			got := env.Kubectl(t, "get", tc.kind, "--field-selector="+tc.selector, "-o=jsonpath={.items[*].metadata.name}")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestKubectlShowsWhatMatters(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	event := object(t, env, "LifecycleEvent", `{transitionName: a, bindingNode: shown}`)
	transition := object(t, env, "LifecycleTransition", `{start: s, end: e, driver: example.com/d, nodeName: shown, sla: 5m}`)
	create(t, env, event)
	create(t, env, transition)
	status := `{status: {claimStatus: Claimed, sla: "2026-01-02T03:04:05Z", driver: {name: example.com/d, start: s, end: e},
		progress: {total: 30, done: 12, summary: 12/30}}}`
	if err := env.Client.Status().Patch(t.Context(), event, mergePatch(t, status)); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		kind string
		of   *unstructured.Unstructured
		want [][]string
	}{
		"an event": {
			"lifecycleevents", event, [][]string{
				{"NAME", "TRANSITION", "NODE", "STATUS", "DRIVER", "PROGRESS", "DEADLINE", "AGE"},
				{event.GetName(), "a", "shown", "Claimed", "example.com/d", "12/30", "2026-01-02T03:04:05Z"},
			},
		},
		"a transition": {
			"lifecycletransitions", transition, [][]string{
				{"NAME", "START", "END", "DRIVER", "SLA", "AGE"},
				{transition.GetName(), "s", "e", "example.com/d", "5m"},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got [][]string
			for line := range strings.Lines(env.Kubectl(t, "get", tc.kind, tc.of.GetName())) {
				columns := strings.Fields(line)
				if len(got) == 1 && len(columns) > 0 {
					columns = columns[:len(columns)-1] // the age
				}
				got = append(got, columns)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
