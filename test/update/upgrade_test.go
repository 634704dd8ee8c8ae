// SPDX-License-Identifier: Apache-2.0

package update

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/wait"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/install/installer"
	"github.com/slipway-k8s/slipway/test/harness"
)

// TestAnUpgradeInTheMiddleOfADrainLosesNothing installs an older version, and upgrades it
// as the page says.
func TestAnUpgradeInTheMiddleOfADrainLosesNothing(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	follow(t, env, "Install", older(t))
	node := env.Node(t, "upgrade")
	env.Node(t, "upgrade")
	agents := startFleet(t, env, []*harness.Node{node})
	controller := env.Controller(t, "old", "")
	controller.AwaitLeading()
	env.Rule(t, "default", "kept")
	held := node.HeldPod("held-" + node.Name)
	drain := node.Event(node.EventName("drain"), harness.Drain, harness.Kept)
	later := node.Event(node.EventName("later"), harness.Return, harness.Gates("example.com/later"))
	held.AwaitHeld(t, drain.Name)
	if says(t, env, node, later.Name) {
		t.Fatal("the older version knows spec.reason already")
	}

	before := stored(t, env)
	follow(t, env, "Upgrade", "")
	agents.replaceAll(func(*harness.Node) {})
	controller.Stop()
	env.Controller(t, "new", "").AwaitLeading()
	if diff := cmp.Diff(before, stored(t, env)); diff != "" {
		t.Errorf("what is stored has changed (-before +after):\n%s", diff)
	}
	if e := eventOf(t, env, drain.Name); !begun(e) || e.UID != drain.UID {
		t.Errorf("the drain is not in the middle any more: %+v", e.Status)
	}
	awaitField(t, env, node, later.Name)
	awaitNoDiff(t, env)

	held.LetGo(t)
	if ended := env.Outcome(t, drain.Name); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
		t.Errorf("the drain ended as %s: %s", ended.Status.ClaimStatus, harness.Finished(ended).Message)
	}
	node.Change(later.Name, harness.Gates(lifecyclev1alpha1.GateGuards))
	env.AwaitEventGone(t, later.Name)
}

// TestHoldsSurviveUpgradesAndForbidDowngrades: a held node stays its user's while controller and agents are upgraded, in
// either order. While it is held, neither can be downgraded to a version before holds.
func TestHoldsSurviveUpgradesAndForbidDowngrades(t *testing.T) {
	t.Parallel()
	env := harness.OwnBare(t)
	follow(t, env, "Install", older(t))
	node := env.Worker(t, "worker-1", "held")
	env.Node(t, "held") // where pods can go
	agents := startFleet(t, env, []*harness.Node{node})
	controller := env.Controller(t, "old", "")
	controller.AwaitLeading()
	env.AwaitGate(t)
	const plugin = "kubectl-slipway"
	env.Shell(t, harness.Binary(t, plugin)+" drain worker-1 --as=ada --as-group=system:masters --reason disk")
	const holds = `jsonpath={range .items[*]}{.metadata.uid} {.spec.user}{"\n"}{end}`
	before := env.Kubectl(t, "get", "nodeholds", "-o", holds)
	if !strings.Contains(before, " ada") {
		t.Fatalf("the holds are %q", before)
	}
	returns := func(user string) string {
		return env.Shell(t, harness.Binary(t, plugin)+" uncordon worker-1 --as="+user+" --as-group=system:masters 2>&1 || true")
	}

	follow(t, env, "Upgrade", "")
	agents.replaceAll(func(*harness.Node) {}) // the agent first
	if said := returns("bob"); !strings.Contains(said, `held by user "ada"`) {
		t.Errorf("with a new agent and an old controller, bob returns the node: %s", said)
	}
	controller.Stop()
	controller = env.Controller(t, "new", "")
	controller.AwaitLeading()
	if said := returns("bob"); !strings.Contains(said, `held by user "ada"`) {
		t.Errorf("after the upgrade, bob returns the node: %s", said)
	}
	if after := env.Kubectl(t, "get", "nodeholds", "-o", holds); after != before {
		t.Errorf("the holds are %q, and were %q", after, before)
	}

	downgrades := map[string]string{"controller": "deployment slipway-controller", "agents": "daemonset slipway-node-agent"}
	const old = ` --namespace slipway-system --type=merge -p '{"spec":{"template":{"metadata":{"annotations":{"slipway.dev/holds":null}}}}}' --dry-run=server 2>&1`
	for what, object := range downgrades {
		said := env.Shell(t, "! kubectl patch "+object+old)
		if !strings.Contains(said, "spec.template: node worker-1 is held for LifecycleEvent") || !strings.Contains(said, "return the nodes first") {
			t.Errorf("%s: the server says %s", what, said)
		}
	}
	if said := returns("ada"); !strings.Contains(said, "uncordoned") {
		t.Errorf("ada returns the node: %s", said)
	}
	harness.AwaitNone[*slipwayv1alpha1.NodeHold](t, env, &slipwayv1alpha1.NodeHoldList{})
	for what, object := range downgrades {
		// No watch shows when the API server knows that there is no hold.
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
			return exec.CommandContext(ctx, "sh", "-c", env.Facts.Kubectl+" --kubeconfig="+env.Facts.Kubeconfig+" patch "+object+old).Run() == nil, nil
		})
		if err != nil {
			t.Errorf("%s: without a hold, the downgrade is rejected", what)
		}
	}
}

// stored are the UIDs of all objects of our kinds, and of the kinds.
func stored(t *testing.T, env *harness.Env) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(env.Kubectl(t, "get", "crds,lifecycleevents,lifecycletransitions,drainrules", "-A",
		"-o", `jsonpath={range .items[*]}{.kind} {.metadata.name}={.metadata.uid}{"\n"}{end}`)) {
		name, uid, _ := strings.Cut(strings.TrimSpace(line), "=")
		found[name] = uid
	}
	const atLeast = 8 // 3 kinds, 2 events, 2 transitions, a rule
	if len(found) < atLeast {
		t.Fatalf("found only %v", found)
	}
	return found
}

// says gives an event a reason, and returns whether it has one then.
func says(t *testing.T, env *harness.Env, node *harness.Node, event string) bool {
	t.Helper()
	const reason = "new firmware"
	node.Change(event, func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.Reason = reason })
	return eventOf(t, env, event).Spec.Reason == reason
}

// awaitNoDiff waits until the same once more changes nothing: kubectl diff fails where it would, and while a controller
// writes the status of a workload between its two requests.
func awaitNoDiff(t *testing.T, env *harness.Env) {
	t.Helper()
	var out []byte
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		var err error
		out, err = exec.CommandContext(ctx, env.Facts.Kubectl, "--kubeconfig="+env.Facts.Kubeconfig,
			"diff", "--server-side", "--field-manager="+installer.FieldManager, "-f", harness.File(t, manifest)).CombinedOutput()
		return err == nil, nil
	})
	if err != nil {
		t.Fatalf("kubectl diff: %v:\n%s", err, out)
	}
}

// awaitField waits until the API server works with the new kinds, which no watch shows.
func awaitField(t *testing.T, env *harness.Env, node *harness.Node, event string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(context.Context) (bool, error) { return says(t, env, node, event), nil })
	if err != nil {
		t.Fatalf("waiting until events have spec.reason: %v", err)
	}
}
