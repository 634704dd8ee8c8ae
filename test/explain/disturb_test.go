// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/slipway-k8s/slipway/test/harness"
)

// The tests of this file disturb the whole cluster, so they do not run beside others.

const agentAccount = "system:serviceaccount:slipway-system:slipway-node-agent"

func TestExplainNamesWhatTheControlPlaneHasNotDone(t *testing.T) {
	tainted, budgeted, ending := newScene(t, "nodetaintmissing", true), newScene(t, "budgetnotobserved", true), newScene(t, "namespaceterminating", true)
	budgeted.hasPod()
	namespace := ending.env.Namespace(t, nil)
	harness.Await(t, ending.env, "the service account of the namespace", &corev1.ServiceAccountList{},
		func(*corev1.ServiceAccount) bool { return true }, harness.Named("default"), client.InNamespace(namespace.Name))
	ending.hasPod(func(p *corev1.Pod) { p.Namespace = namespace.Name })
	for _, s := range []*scene{tainted, budgeted, ending} {
		s.node.Agent("")
	}
	env := tainted.env
	if err := env.Stop(t.Context(), "kube-controller-manager"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // harmless if it runs
		if err := env.Start(context.Background(), "kube-controller-manager"); err != nil {
			t.Error(err)
		}
	})
	budgeted.apply(strings.NewReplacer("NAME", "APP", "WANTS", "minAvailable: 0").Replace(budget))
	budgeted.kubectl("delete namespace %s --wait=false", namespace.Name)
	for s, c := range map[*scene]struct{ code, object, by string }{
		tainted:  {"NodeTaintMissing", "Node NODE", "Node NODE"},
		budgeted: {"BudgetNotObserved", ofPod, "PodDisruptionBudget default/APP"},
		ending:   {"NamespaceTerminating", "Pod " + namespace.Name + "/POD", "Namespace " + namespace.Name},
	} {
		s.ask()
		s.awaitBlocker(c.code)
		cause := s.explain(c.code)
		if cause.Objects[0] != s.named(c.object) || cause.By != s.named(c.by) {
			t.Errorf("%s: it names %q and %q, want %q and %q", c.code, cause.Objects, cause.By, s.named(c.object), s.named(c.by))
		}
		s.look(cause)
	}
	if err := env.Start(t.Context(), "kube-controller-manager"); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*scene{tainted, budgeted, ending} {
		s.succeeds()
	}
}

// An API whose server is away: for who reads it, that is the API server.
func TestExplainNamesAnAPIServerThatCannotServe(t *testing.T) {
	const rules = "v1alpha1.slipway.dev"
	trouble{
		begin: func(s *scene) {
			s.hasPod()
			s.Cleanup(func() { s.tidy("", "delete", "--ignore-not-found", "apiservice", rules) })
			s.kubectl("label apiservice " + rules + " kube-aggregator.kubernetes.io/automanaged-")
			s.kubectl("patch apiservice " + rules + ` --type=merge -p '{"spec":{"insecureSkipTLSVerify":true,"service":{"namespace":"default","name":"nobody"}}}'`)
			s.awaits("DrainRules are not served", listRules, "unable to handle", rest.ImpersonationConfig{})
			s.drain()
			s.awaitBlocker("APIServerUnavailable")
		},
		object: "Node NODE", by: "drain rules of namespace default",
		act: func(s *scene) { s.kubectl("delete apiservice " + rules) }, // it is registered anew, as it was
	}.test(t, "APIServerUnavailable")
}

func TestExplainNamesARightThatIsMissing(t *testing.T) {
	const bringBack = "apply -f config/rbac/node-agent.yaml"
	trouble{
		begin: func(s *scene) {
			s.hasPod()
			s.node.Agent("").AwaitLog("Starting workers") // it looks at its rights when it starts
			s.kubectl(`patch clusterrole slipway-node-agent --type=json -p '[{"op":"test","path":"/rules/4/resources/0","value":"drainrules"},{"op":"remove","path":"/rules/4"}]'`)
			s.Cleanup(func() { s.tidy("", "apply", "-f", harness.File(s.T, "config/rbac/node-agent.yaml")) })
			s.awaits("the right is gone", listRules, "forbidden", rest.ImpersonationConfig{UserName: agentAccount})
			s.ask()
			s.awaitBlocker("ReadRefused")
		},
		object: "Node NODE", by: "drain rules of namespace default",
		act: func(s *scene) { s.kubectl(bringBack) },
	}.test(t, "ReadRefused")
}

func listRules(ctx context.Context, c kubernetes.Interface) error {
	return c.Discovery().RESTClient().Get().AbsPath("/apis/slipway.dev/v1alpha1/drainrules").MaxRetries(0).Do(ctx).Error()
}

// A rule of a newer version, which was stored before the CRD went back to this one.
func TestExplainNamesARuleThatCannotBeUnderstood(t *testing.T) {
	trouble{
		begin: func(s *scene) {
			s.hasPod()
			s.kubectl(`patch crd drainrules.slipway.dev --type=json -p '[{"op":"add","path":"/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/behavior/enum/-","value":"Explode"}]'`)
			s.Cleanup(func() {
				s.tidy("", "apply", "--server-side", "--force-conflicts", "-f", harness.File(s.T, "config/crd/slipway.dev"))
			})
			s.awaitAccepted(`{apiVersion: slipway.dev/v1alpha1, kind: DrainRule, metadata: {name: APP, namespace: default}, spec: {podSelector: {matchLabels: {app: APP}}, behavior: Explode}}`)
			s.drain()
			s.awaitBlocker("RuleInvalid")
		},
		object: "Node NODE", by: "DrainRule default/APP", run: "delete drainrule",
	}.test(t, "RuleInvalid")
}

// awaitAccepted applies what the API server takes only after it has heeded a change.
func (s *scene) awaitAccepted(manifest string) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 200*time.Millisecond, time.Minute, true, func(context.Context) (bool, error) {
		return s.applied(manifest) == nil, nil
	})
	if err != nil {
		s.Fatalf("%v: %v", err, s.applied(manifest))
	}
}
