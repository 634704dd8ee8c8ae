// SPDX-License-Identifier: Apache-2.0

package kubectl

import (
	"context"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
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

	out, trouble := run(t, env, 1, "drain", node.Name, "--dry-run=client")
	wantTexts(t, out, "drain-"+node.Name+" created (dry run)")
	wantTexts(t, trouble, "node "+node.Name+" would not be drained", "Pod default/"+pod.Name, "--force evicts it")
	_, trouble = run(t, env, 1, "drain", node.Name)
	wantTexts(t, trouble, "its pods stay", "Pod default/"+pod.Name, "--force evicts it", "its cordon undone")
	env.Untouched(t, pod)
	_, trouble = run(t, env, 0, "drain", node.Name, "--force")
	wantTexts(t, trouble, "warning: node "+node.Name+": no controller starts these pods again: default/"+pod.Name)
	node.AwaitPodsGone(client.MatchingLabels{"app": "cli-bare"})
}

// kubectl drain ends with an error when admission refuses an eviction. Here the drain tries again, and says so at once.
func TestAnEvictionThatAdmissionRefusesIsReportedAtOnce(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	node := env.Node(t, "cli-denied")
	node.Expect(harness.CordonLeft, notReturned)
	pod := node.Pod("cli-denied", quick())
	node.Agent("")
	allow := refuseEvictions(t, env, pod)
	drain := start(t, env, "drain", node.Name, "--force")
	drain.trouble.await(t, "warning: node "+node.Name+": the API server refuses", "Pod default/"+pod.Name, "not this one", "kubectl slipway cancel "+node.Name)
	allow()
	drain.end(0)
}

// refuseEvictions has a policy refuse the evictions of a pod, until allow.
func refuseEvictions(t *testing.T, env *harness.Env, pod *corev1.Pod) (allow func()) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	policy.Spec.MatchConstraints = &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
		RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods/eviction"}},
		},
	}}}
	policy.Spec.Validations = []admissionv1.Validation{{Expression: "request.name != '" + pod.Name + "'", Message: "not this one"}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: pod.Name}}
	binding.Spec.PolicyName, binding.Spec.ValidationActions = pod.Name, []admissionv1.ValidationAction{admissionv1.Deny}
	clients, err := kubernetes.NewForConfig(env.Admin)
	if err != nil {
		t.Fatal(err)
	}
	admission := clients.AdmissionregistrationV1()
	forget := context.WithoutCancel(t.Context())
	if _, err := admission.ValidatingAdmissionPolicies().Create(t.Context(), policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = admission.ValidatingAdmissionPolicies().Delete(forget, pod.Name, metav1.DeleteOptions{}) })
	if _, err := admission.ValidatingAdmissionPolicyBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	allow = func() {
		_ = admission.ValidatingAdmissionPolicyBindings().Delete(forget, pod.Name, metav1.DeleteOptions{})
	}
	t.Cleanup(allow)
	// No watch shows when a policy takes effect.
	if err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := clients.CoreV1().Pods(pod.Namespace).EvictV1(ctx, &policyv1.Eviction{
			ObjectMeta: metav1.ObjectMeta{Name: pod.Name}, DeleteOptions: &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}},
		})
		return err != nil, nil
	}); err != nil {
		t.Fatal(err)
	}
	return allow
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
