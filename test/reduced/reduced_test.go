// SPDX-License-Identifier: Apache-2.0

package reduced

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// Without constrained impersonation an agent says what to do, and what it says works.
func TestTheReducedVariant(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, withoutImpersonation())
	node, other := env.Node(t, "reduced"), env.Node(t, "other")
	agent := kubernetes.NewForConfigOrDie(node.Credentials())

	says(t, node.Agent("", "--act-as=node").AwaitExit(), "knows no constrained impersonation", "--act-as=self", "config/rbac/reduced")
	if !env.Reduced() {
		says(t, node.Agent("", "--act-as=self").AwaitExit(), "missing permissions", "patch nodes", "create pods/eviction",
			"kubectl apply -f config/rbac -f config/rbac/reduced")
		for _, dir := range []string{"rbac", "admission"} {
			env.Kubectl(t, "apply", "-f", harness.File(t, "config", dir, "reduced"))
		}
	}
	await(t, "the right to evict", func(ctx context.Context) bool { return may(ctx, t, agent, "create", "pods", "eviction") })

	node.Pod("reduced", harness.PodOptions{Gone: time.Second})
	drains := node.Agent("", "--act-as=self")
	drains.AwaitLog("WARNING: --act-as=self")
	drains.AwaitLog("Some permissions are missing") // deleting pods
	for _, step := range []string{harness.Drain, harness.Return} {
		name := node.EventName(step)
		node.Event(name, step, harness.Kept)
		if ended := env.Outcome(t, name); ended.Status.ClaimStatus != lifecyclev1alpha1.Succeeded {
			t.Errorf("%s ended as %s: %s", step, ended.Status.ClaimStatus, harness.Finished(ended).Message)
		}
	}
	node.AwaitPodsGone(client.MatchingLabels{"app": "reduced"})
	node.Await("is schedulable", func(n *corev1.Node) bool { return !n.Spec.Unschedulable })

	// What RBAC cannot hold it to, the policy does, as far as Nodes go.
	await(t, "the refusal to cordon another node", func(ctx context.Context) bool {
		err := patch(ctx, agent, other.Name, `{"spec":{"unschedulable":true}}`)
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "ValidatingAdmissionPolicy 'agent-nodes.slipway.dev'")
	})
	if err := patch(t.Context(), agent, node.Name, `{"metadata":{"labels":{"a":"b"}}}`); !apierrors.IsForbidden(err) {
		t.Errorf("it labels its node: %v", err)
	}
	if err := patch(t.Context(), agent, node.Name, `{"spec":{"taints":[{"key":"a","effect":"NoExecute"}]}}`); !apierrors.IsForbidden(err) {
		t.Errorf("it taints its node: %v", err)
	}
}

// withoutImpersonation disables constrained impersonation. Kubernetes before 1.36, on which `make matrix` runs the test, has none.
func withoutImpersonation() harness.Options {
	if (devcluster.Facts{Version: os.Getenv("SLIPWAY_LOCALCLUSTER_KUBERNETES")}).Reduced() {
		return harness.Options{}
	}
	return harness.Options{LauncherArgs: []string{"--feature-gates=ConstrainedImpersonation=false"}}
}

func says(t *testing.T, said string, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(said, text) {
			t.Errorf("it said %q; want %q", said, text)
		}
	}
}

func patch(ctx context.Context, agent kubernetes.Interface, node, text string) error {
	_, err := agent.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(text),
		metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
	return err
}

func may(ctx context.Context, t *testing.T, agent kubernetes.Interface, verb, resource, subresource string) bool {
	t.Helper()
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: verb, Resource: resource, Subresource: subresource},
	}}
	review, err := agent.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, review, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return review.Status.Allowed
}

// await waits for what no watch shows.
func await(t *testing.T, what string, is func(context.Context) bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) { return is(ctx), nil })
	if err != nil {
		t.Fatalf("waiting for %s: %v", what, err)
	}
}
