// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"syscall"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/harness"
)

const notReturned = "a node that was drained stays cordoned until it is returned, which is not part of this test"

func quick() harness.PodOptions { return harness.PodOptions{Gone: time.Second} }

func TestADrainAndAReturnEndWith0(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-drain")
	env.Deployment(t, "cli-web", "cli-drain", 3, quick())
	node.Agent("")

	out, _ := run(t, env, 0, "drain", node.Name)
	wantTexts(t, out, "Claimed by NodeAgent", "is deleted", "node/"+node.Name+" drained")
	node.AwaitPodsGone(client.MatchingLabels{"app": "cli-web"})
	out, _ = run(t, env, 0, "uncordon", "node/"+node.Name)
	wantTexts(t, out, "node/"+node.Name+" uncordoned")
}

func TestADrainThatKubectlWouldRefuseIsWithdrawnWith1(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-refused")
	node.Expect(harness.CordonLeft, notReturned)
	pod := node.Pod("cli-bare", quick())
	node.Agent("")

	_, trouble := run(t, env, 1, "drain", node.Name)
	wantTexts(t, trouble, "its pods stay", "Pod default/"+pod.Name, "--force evicts it", "its cordon undone")
	env.Untouched(t, pod)
	run(t, env, 0, "drain", node.Name, "--force")
	node.AwaitPodsGone(client.MatchingLabels{"app": "cli-bare"})
}

func TestAWrongCommandLineEndsWith2(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for _, arguments := range [][]string{
		{"drain"},
		{"drain", "a", "-l", "b=c"},
		{"drain", "pod/a"},
		{"drain", "a", "--grace-period=0"},
		{"drain", "a", "--skip-wait-for-delete-timeout=3"},
		{"uncordon"},
		{"cancel"},
		{"drain", "a", "-o", "yaml"},
	} {
		run(t, env, 2, arguments...)
	}
	for _, command := range []string{"drain", "uncordon", "cancel", "status"} {
		out, trouble := run(t, env, 1, command, "no-such-node")
		wantTexts(t, trouble, `there is no node "no-such-node"`)
		if out != "" {
			t.Errorf("%s printed:\n%s", command, out)
		}
	}
}

func TestADrainWhoseDeadlinePassesEndsWith3(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-sla")
	node.Expect(harness.CordonLeft, notReturned)
	held := node.HeldPod("cli-held-sla")
	node.Agent("")
	_, trouble := run(t, env, 3, "drain", node.Name, "--force", "--sla=15s")
	wantTexts(t, trouble, "SlaExpired", held.Name)
}

func TestADrainThatSomebodyCancelsEndsWith4(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-canceled")
	held := node.HeldPod("cli-held-canceled")
	node.Agent("")
	drain := start(t, env, "drain", node.Name, "--force", "-o", "json")
	held.AwaitHeld(t, "drain-"+node.Name)

	_, trouble := run(t, env, 1, "uncordon", node.Name)
	wantTexts(t, trouble, "LifecycleEvent drain-"+node.Name, "is in progress", "kubectl slipway cancel "+node.Name)
	_, trouble = run(t, env, 1, "drain", node.Name)
	wantTexts(t, trouble, "requested by", "spec.parameters.unmanagedPods is not set there, and Refuse here", "status -w "+node.Name)
	out, _ := run(t, env, 0, "cancel", node.Name)
	wantTexts(t, out, "drain-"+node.Name+", requested by", "is canceled; the node is schedulable")
	out, trouble = drain.end(4)
	wantTexts(t, out, `"reason":"BudgetImpossible"`, `"ended":true,"reason":"Canceled"`)
	wantTexts(t, trouble, "canceled")
	out, _ = run(t, env, 0, "cancel", node.Name)
	wantTexts(t, out, "nothing to cancel")
}

func TestAReturnThatLeavesAnotherPartysCordonEndsWith7(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-theirs")
	node.Agent("")
	env.Kubectl(t, "cordon", node.Name)
	run(t, env, 0, "drain", node.Name)
	_, trouble := run(t, env, 7, "uncordon", node.Name)
	wantTexts(t, trouble, "node "+node.Name+" is returned, and not schedulable")
}

func TestADrainThatIsNotDoneInTimeEndsWith5AndEvictsNoMore(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-timeout")
	node.Expect(harness.CordonLeft, notReturned)
	held := node.HeldPod("cli-held-timeout")
	node.Agent("")
	_, trouble := run(t, env, 5, "drain", node.Name, "--force", "--timeout=15s")
	wantTexts(t, trouble, "timed out", held.Name)
	env.AwaitEventGone(t, "drain-"+node.Name)
	since := time.Now()
	held.LetGo(t)
	env.Untouched(t, held.Pod)
	if evictions := node.EvictionsSince(since); len(evictions) > 0 {
		t.Errorf("evictions after the timeout: %v", evictions)
	}
}

func TestADrainThatNobodyClaimsInTimeIsWithdrawn(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-unclaimed")
	_, trouble := run(t, env, 5, "drain", node.Name, "--timeout=1s")
	wantTexts(t, trouble, "was not claimed in time, and was withdrawn")
	env.AwaitEventGone(t, "drain-"+node.Name)
}

func TestCtrlCEndsTheCommandAndNotTheDrain(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-ctrl-c")
	node.Expect(harness.CordonLeft, notReturned)
	held := node.HeldPod("cli-held-ctrl-c")
	node.Agent("")
	drain := start(t, env, "drain", node.Name, "--force")
	event := held.AwaitHeld(t, "drain-"+node.Name)
	drain.signal(syscall.SIGINT)
	_, trouble := drain.end(130)
	wantTexts(t, trouble, "It continues in the cluster", "kubectl slipway status -w "+node.Name, "kubectl slipway cancel "+node.Name)

	again := start(t, env, "drain", node.Name, "--force")
	again.trouble.await(t, "LifecycleEvent "+event.Name)
	held.LetGo(t)
	_, trouble = again.end(0)
	wantTexts(t, trouble, "exists already")
}
