// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/devcluster"
	"github.com/slipway-k8s/slipway/test/harness"
)

// try asks the API server what it thinks of a rule. The spec is YAML.
func try(ctx context.Context, t *testing.T, env *harness.Env, namespace, spec string) error {
	t.Helper()
	var content map[string]any
	if err := yaml.UnmarshalStrict([]byte(spec), &content); err != nil {
		t.Fatal(err)
	}
	o := &unstructured.Unstructured{Object: map[string]any{"spec": content}}
	o.SetAPIVersion("slipway.dev/v1alpha1")
	o.SetKind("DrainRule")
	o.SetGenerateName("bad-input-")
	o.SetNamespace(namespace)
	return env.Client.Create(ctx, o, client.DryRunAll)
}

func TestTheAPIServerRefusesBadRules(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for name, tc := range map[string]struct {
		spec string
		want []string
	}{
		"no behavior": {`{podSelector: {}}`, []string{"spec.behavior: Required value"}},
		"no pods":     {`{behavior: Skip}`, []string{"spec.podSelector: Required value"}},
		"a behavior that there is not": {
			`{podSelector: {}, behavior: Delete}`,
			[]string{`spec.behavior: Unsupported value: "Delete"`, `"Evict", "Skip", "WaitCompleted"`},
		},
		"an order for pods that stay": {
			`{podSelector: {}, behavior: Skip, order: 0}`,
			[]string{"spec.order: Invalid value", "spec.order must not be set with behavior Skip"},
		},
		"a deadline for pods that stay": {
			`{podSelector: {}, behavior: Skip, deadline: 5m}`,
			[]string{"spec.deadline: Invalid value", "spec.deadline must not be set with behavior Skip"},
		},
		"an order that is too high": {`{podSelector: {}, behavior: Evict, order: 3000000000}`, []string{"format int32 in spec.order"}},
		"a deadline of zero": {
			`{podSelector: {}, behavior: Evict, deadline: 0s}`,
			[]string{`spec.deadline: Invalid value: "0s"`, "spec.deadline must be greater than 0"},
		},
		"a negative deadline": {
			`{podSelector: {}, behavior: Evict, deadline: -5m}`,
			[]string{`spec.deadline: Invalid value: "-5m"`, "spec.deadline must be greater than 0"},
		},
		"a deadline without a unit": {`{podSelector: {}, behavior: Evict, deadline: "300"}`, []string{`spec.deadline: Invalid value: "300"`}},
		"an operator that there is not": {
			`{podSelector: {matchExpressions: [{key: app, operator: Around}]}, behavior: Skip}`,
			[]string{"spec.podSelector.matchExpressions: Invalid value", "operator must be In, NotIn, Exists or DoesNotExist"},
		},
		"an operator for nodes that there is not": {
			`{podSelector: {}, nodeSelector: {matchExpressions: [{key: app, operator: Around}]}, behavior: Skip}`,
			[]string{"spec.nodeSelector.matchExpressions: Invalid value", "operator must be In, NotIn, Exists or DoesNotExist"},
		},
		"an operator for nodes without values": {
			`{podSelector: {}, nodeSelector: {matchExpressions: [{key: app, operator: In}]}, behavior: Skip}`,
			[]string{"spec.nodeSelector.matchExpressions: Invalid value", "In and NotIn need values"},
		},
		"an operator without values": {
			`{podSelector: {matchExpressions: [{key: app, operator: In}]}, behavior: Skip}`,
			[]string{"spec.podSelector.matchExpressions: Invalid value", "In and NotIn need values"},
		},
		"an operator with values that it does not take": {
			`{podSelector: {}, namespaceSelector: {matchExpressions: [{key: app, operator: Exists, values: [a]}]}, behavior: Skip}`,
			[]string{"spec.namespaceSelector.matchExpressions: Invalid value", "Exists and DoesNotExist take none"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.Refused(t, try(t.Context(), t, env, devcluster.Namespace, tc.spec), tc.want...)
		})
	}
}

func TestTheAPIServerAllowsTheseRules(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	policyInForce(t, env)
	for name, tc := range map[string]struct{ namespace, spec string }{
		"for all pods":    {"default", `{podSelector: {}, behavior: Skip}`},
		"with everything": {"default", `{podSelector: {matchLabels: {a.example/b: c}, matchExpressions: [{key: d, operator: NotIn, values: ["", e]}]}, nodeSelector: {matchLabels: {pool: edge}}, behavior: WaitCompleted, order: -7, deadline: 1h30m}`},
		"of the cluster":  {devcluster.Namespace, `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Evict, deadline: 1h}`},
		"for everybody":   {devcluster.Namespace, `{podSelector: {}, namespaceSelector: {}, behavior: Skip}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := try(t.Context(), t, env, tc.namespace, tc.spec); err != nil {
				t.Error(err)
			}
		})
	}
}

// policyInForce waits until the API server has taken the admission policy in, which no
// watch shows: it has once it refuses.
func policyInForce(t *testing.T, env *harness.Env) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, time.Minute, true, func(ctx context.Context) (bool, error) {
		err := try(ctx, t, env, "default", `{podSelector: {}, namespaceSelector: {}, behavior: Skip}`)
		return apierrors.IsInvalid(err), nil
	})
	if err != nil {
		t.Fatalf("the admission policy does not come into force: %v", err)
	}
}

func TestTheAdmissionPolicyRefusesWhatTheCRDCannot(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	policyInForce(t, env)
	for name, tc := range map[string]struct{ namespace, spec, want string }{
		"a rule of the cluster from elsewhere": {
			"default", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Skip}`,
			"spec.namespaceSelector: only a DrainRule in namespace slipway-system may have one",
		},
		"a key that no label has": {
			"default", `{podSelector: {matchLabels: {"a b": c}}, behavior: Skip}`,
			"spec.podSelector.matchLabels: there is a key or a value that no label can have",
		},
		"a value that no label has": {
			"default", `{podSelector: {matchExpressions: [{key: a, operator: In, values: [b, "c d"]}]}, behavior: Skip}`,
			"spec.podSelector.matchExpressions: there is a key or a value that no label can have",
		},
		"a value that no label of a node has": {
			"default", `{podSelector: {}, nodeSelector: {matchLabels: {a: "-"}}, behavior: Skip}`,
			"spec.nodeSelector.matchLabels: there is a key or a value that no label can have",
		},
		"a key that no label of a node has": {
			"default", `{podSelector: {}, nodeSelector: {matchExpressions: [{key: "/", operator: Exists}]}, behavior: Skip}`,
			"spec.nodeSelector.matchExpressions: there is a key or a value that no label can have",
		},
		"a value that no label of a namespace has": {
			devcluster.Namespace, `{podSelector: {}, namespaceSelector: {matchLabels: {a: "-"}}, behavior: Skip}`,
			"spec.namespaceSelector.matchLabels: there is a key or a value that no label can have",
		},
		"a key that no label of a namespace has": {
			devcluster.Namespace, `{podSelector: {}, namespaceSelector: {matchExpressions: [{key: "/", operator: Exists}]}, behavior: Skip}`,
			"spec.namespaceSelector.matchExpressions: there is a key or a value that no label can have",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			harness.Refused(t, try(t.Context(), t, env, tc.namespace, tc.spec), tc.want)
		})
	}
}

func TestOwnersOfNamespacesMayWriteRules(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	for role, verb := range map[string]string{"admin": "create", "edit": "create", "view": "get"} {
		// The rights are aggregated by a controller: wait until it has done so.
		harness.Await(t, env, role+" may "+verb+" DrainRules", &rbacv1.ClusterRoleList{}, func(r *rbacv1.ClusterRole) bool {
			return slices.ContainsFunc(r.Rules, func(rule rbacv1.PolicyRule) bool {
				return slices.Contains(rule.APIGroups, slipwayv1alpha1.GroupVersion.Group) &&
					slices.Contains(rule.Resources, "drainrules") && slices.Contains(rule.Verbs, verb)
			})
		}, harness.Named(role))
	}
}

func TestTheSamplesAreGood(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	env.Kubectl(t, "apply", "--dry-run=server", "-f", harness.File(t, "config", "samples"))
}

func TestTheExamplesOfTheDocumentationAreGood(t *testing.T) {
	t.Parallel()
	env := harness.Shared(t)
	env.Kubectl(t, "create", "namespace", "shop")
	text, err := os.ReadFile(harness.File(t, "docs", "drain-rules.md"))
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(text), "```yaml\n")[1:]
	if len(blocks) < 3 {
		t.Fatalf("found %d examples, want those for apps, for administrators and for who asks", len(blocks))
	}
	for i, block := range blocks {
		example, _, _ := strings.Cut(block, "```")
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			env.KubectlWith(t, example, "apply", "--dry-run=server", "-f", "-")
		})
	}
}
