// SPDX-License-Identifier: Apache-2.0

package homes

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// The first documents of the server-side drain show how it is used: these files, and
// these commands. They work as they stand where lifecycle.k8s.io is free, and with
// nothing but another group in the files where the server has taken it.
func TestTheFilesAndCommandsOfTheServerSideDrain(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]harness.Options{
		"as they stand": {},
		"on a server that serves lifecycle.k8s.io itself": {
			Group: lifecyclev1alpha1.GroupSlipway, LauncherArgs: builtinGroup,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := harness.Own(t, options)
			node := env.Worker(t, "worker-1", "seed")
			node.Agent("")
			env.Deployment(t, "web", "seed", 3, harness.PodOptions{Gone: time.Second})
			drainAndReturn(t, env, node)
			runsTheProgram(t, env, node)
		})
	}
}

// drainAndReturn drains worker-1 of the pods of app web, and returns it.
func drainAndReturn(t *testing.T, env *harness.Env, node *harness.Node) {
	t.Helper()
	history := node.Record()

	events := env.FollowKubectl(t, "get", "lifecycleevents", "-w")
	apply(t, env, "drain-worker-1.yaml")
	history.Await("drain-worker-1 gone")
	wantRows(t, events, "drain-worker-1", "drain.slm.k8s.io")
	node.AwaitPodsGone(client.MatchingLabels{"app": "web"})
	node.Await("is cordoned", func(n *corev1.Node) bool { return n.Spec.Unschedulable })
	wantCondition(t, env, "drain-complete", "drain.slm.k8s.io")

	events = env.FollowKubectl(t, "get", "lifecycleevents", "-w")
	apply(t, env, "uncordon-worker-1.yaml")
	history.Await("uncordon-worker-1 gone")
	wantRows(t, events, "uncordon-worker-1", "drain.slm.k8s.io-uncordon")
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })
	wantCondition(t, env, "maintenance-complete", "drain.slm.k8s.io-uncordon")

	phases := []string{"Pending", "Claimed", "Succeeded", "gone"}
	for object, want := range map[string][]string{
		"drain-worker-1": phases, "uncordon-worker-1": phases,
		"node": {"drain-started", "drain-complete", "uncordoning", "maintenance-complete"},
	} {
		if diff := cmp.Diff(want, history.States(object)); diff != "" {
			t.Errorf("history of %s (-want +got):\n%s", object, diff)
		}
	}
}

// apply is kubectl apply -f - of one of the files.
func apply(t *testing.T, env *harness.Env, file string) {
	t.Helper()
	text, err := os.ReadFile(harness.File(t, "config", "samples", file))
	if err != nil {
		t.Fatal(err)
	}
	moved := strings.Replace(string(text), lifecyclev1alpha1.GroupKubernetes, env.Group, 1)
	env.KubectlWith(t, moved, "apply", "-f", "-")
}

// wantCondition asks for the Node's condition as the documents say.
func wantCondition(t *testing.T, env *harness.Env, reason, transition string) {
	t.Helper()
	out := env.Kubectl(t, "get", "node", "worker-1", "-o", `jsonpath={.status.conditions[?(@.type=="LifecycleTransition")]}`)
	var got corev1.NodeCondition
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatalf("read the condition %q: %v", out, err)
	}
	if got.LastTransitionTime.IsZero() || got.LastHeartbeatTime.IsZero() {
		t.Errorf("the condition has no times: %s", out)
	}
	want := corev1.NodeCondition{
		Type: "LifecycleTransition", Status: corev1.ConditionTrue, Reason: reason,
		Message: "Lifecycle Transition '" + transition + "'", LastTransitionTime: got.LastTransitionTime, LastHeartbeatTime: got.LastHeartbeatTime,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the condition (-want +got):\n%s", diff)
	}
}

// wantRows checks what kubectl get -w has shown of an event: each phase, and from the
// claim on the driver.
func wantRows(t *testing.T, kubectl *harness.Process, event, transition string) {
	t.Helper()
	kubectl.AwaitLog("Succeeded")
	var phases []string
	for line := range strings.Lines(kubectl.Log()) {
		columns := strings.Fields(line)
		if len(columns) < 5 || columns[0] != event {
			continue
		}
		if diff := cmp.Diff([]string{event, transition, "worker-1"}, columns[:3]); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", event, diff)
		}
		phase := columns[3]
		if phase != "Pending" && columns[4] != "drain.slm.k8s.io" {
			t.Errorf("%s event %s has driver %q", phase, event, columns[4])
		}
		if !slices.Contains(phases, phase) {
			phases = append(phases, phase)
		}
	}
	if diff := cmp.Diff([]string{"Pending", "Claimed", "Succeeded"}, phases); diff != "" {
		t.Errorf("statuses of %s that kubectl get -w has shown (-want +got):\n%s", event, diff)
	}
}
