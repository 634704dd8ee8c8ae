// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/harness"
)

func TestADrainThatNobodyWaitsForEndsAsOneWhoseClientIsKilled(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	ended := func(group string, begin func(node *harness.Node, held *harness.HeldPod)) []string {
		node := env.Node(t, group)
		node.Expect(harness.CordonLeft, notReturned)
		free := node.Pod(group+"-free", quick())
		held := node.HeldPod(group + "-held")
		h := node.Record()
		node.Agent("")
		begin(node, held)
		held.AwaitHeld(t, "drain-"+node.Name)
		held.LetGo(t)
		h.Await("drain-" + node.Name + " gone")
		node.AwaitPodsGone(client.MatchingLabels{"app": free.Labels["app"]})
		node.AwaitPodsGone(client.MatchingLabels{"app": held.Labels["app"]})
		return append(h.States("drain-"+node.Name), h.States("node")...)
	}

	notWaited := ended("cli-not-waited", func(node *harness.Node, _ *harness.HeldPod) {
		out, trouble := run(t, env, 0, "drain", node.Name, "--force", "--wait=false")
		wantTexts(t, out, "lifecycleevent.lifecycle.k8s.io/drain-"+node.Name+" created")
		wantTexts(t, trouble, "kubectl slipway cancel "+node.Name)
	})
	killed := ended("cli-killed", func(node *harness.Node, held *harness.HeldPod) {
		drain := start(t, env, "drain", node.Name, "--force")
		held.AwaitHeld(t, "drain-"+node.Name)
		drain.signal(syscall.SIGKILL)
		drain.end(-1)
	})
	want := []string{"Pending", "Claimed", "Succeeded", "gone", "drain-started", "drain-complete"}
	for name, got := range map[string][]string{"nobody waited": notWaited, "the client was killed": killed} {
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: phases, and reasons of the Node's condition (-want +got):\n%s", name, diff)
		}
	}
}

func TestSeveralNodesDrainSideBySideAndStatusShowsThem(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	const group = "cli-several"
	free, stuck := env.Node(t, group), env.Node(t, group)
	free.Pod("cli-several-free", quick())
	held := stuck.HeldPod("cli-several-held")
	free.Agent("")
	stuck.Agent("")
	watched := start(t, env, "status", "-w", "-l", harness.GroupLabel+"="+group)

	drain := start(t, env, "drain", "-l", harness.GroupLabel+"="+group, "--force", "--reason", "new firmware", "--until", "2h")
	held.AwaitHeld(t, "drain-"+stuck.Name)
	env.AwaitEventGone(t, "drain-"+free.Name)
	out, _ := run(t, env, 0, "status", "-o", "wide", free.Name, stuck.Name)
	wantTexts(t, out, "drained", "blocked", "BudgetImpossible: Pod default/"+held.Name, "new firmware")
	wantTexts(t, out, "in 11", "after the drain, waits for uncordon by admin", "waits for 'kubectl slipway uncordon'")
	out, _ = run(t, env, 0, "status", "-o", "name", stuck.Name)
	wantTexts(t, out, "node/"+stuck.Name+"\n")
	run(t, env, 1, "status", "no-such-node")
	blocked := stuck.Name + "  drain-" + stuck.Name + "  blocked  0/1  BudgetImpossible"
	watched.out.await(t, blocked)
	held.LetGo(t)
	out, _ = drain.end(0)
	wantTexts(t, out, "node/"+free.Name+" drained", "node/"+stuck.Name+" drained")
	watched.out.await(t, free.Name+"  drained")
	run(t, env, 0, "uncordon", "-l", harness.GroupLabel+"="+group)

	watched.out.await(t, free.Name+"  drained", free.Name+"  in service")
	watched.signal(syscall.SIGINT)
	watched.end(130)
}

func TestWhoMayNotOverrideBudgetsIsToldWhichRightIsMissing(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-rights")
	held := node.HeldPod("cli-held-rights")
	node.Agent("")
	env.Kubectl(t, "create", "clusterrolebinding", "cli-rights", "--clusterrole=slipway-operator", "--user=cli-olga")

	_, trouble := run(t, env, 1, "--as=cli-olga", "drain", node.Name, "--force", "--disable-eviction")
	wantTexts(t, trouble, "override-budgets", "slipway-admin", "You may not read Nodes")
	_, trouble = run(t, env, 5, "--as=cli-olga", "drain", node.Name, "--force", "--timeout=15s")
	wantTexts(t, trouble, held.Name)
	run(t, env, 1, "--as=cli-nobody", "drain", node.Name)
	out, _ := run(t, env, 0, "--as=cli-olga", "drain", node.Name, "--dry-run=server", "-o", "yaml")
	wantTexts(t, out, "requestedBy: cli-olga", "unmanagedPods: Refuse")
	env.AwaitEventGone(t, "drain-"+node.Name)
	run(t, env, 0, "uncordon", node.Name)
}

func TestADrainIsFollowedThroughAnOutage(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, harness.Options{})
	node := env.Node(t, "cli-outage")
	node.Expect(harness.CordonLeft, notReturned)
	held := node.HeldPod("cli-held-outage")
	node.Agent("")
	drain := start(t, env, "drain", node.Name, "--force")
	held.AwaitHeld(t, "drain-"+node.Name)
	env.Outage(t, "kube-apiserver", 3*time.Second, func() {})
	held.LetGo(t)
	out, _ := drain.end(0)
	wantTexts(t, out, "The API server does not answer", "The API server answers again", "node/"+node.Name+" drained")
	if strings.Count(out, "does not answer") > 3 {
		t.Errorf("it says again and again that the server does not answer:\n%s", out)
	}
}
