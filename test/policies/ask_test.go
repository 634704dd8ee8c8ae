// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"sigs.k8s.io/yaml"
)

// request is what somebody does to an object. Objects are YAML; an empty one is none.
type request struct {
	by          caller
	resource    string // with its subresource
	before, now string
}

// caller is somebody with a token, and with rights such as "override-budgets", or
// "delete nodes" and "delete nodes worker-1".
type caller struct {
	name, node string
	rights     []string
}

const (
	agentName      = "system:serviceaccount:slipway-system:slipway-node-agent"
	controllerName = "system:serviceaccount:slipway-system:slipway-controller"
)

var (
	agentOfA  = caller{name: agentName, node: "a"}
	agentOfB  = caller{name: agentName, node: "b"}
	unbound   = caller{name: agentName}
	driverOnA = caller{name: "system:serviceaccount:firmware:driver", node: "a"}
	// driverUnbound has a token that was made for its account without a pod.
	driverUnbound = caller{name: "system:serviceaccount:firmware:driver"}
	controller    = caller{name: controllerName, node: "c"}
	alice         = caller{name: "alice"}
)

// Authorize allows custom verbs that somebody has, on anything; and others on resources, or
// objects, that they name.
func (c caller) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	on := a.GetVerb() + " " + a.GetResource()
	for _, right := range c.rights {
		if slices.Contains([]string{a.GetVerb(), on, on + " " + a.GetName()}, right) && a.GetUser().GetName() == c.name {
			return authorizer.DecisionAllow, "", nil
		}
	}
	return authorizer.DecisionNoOpinion, "", nil
}

func (c caller) with(right string) caller {
	c.rights = append(slices.Clone(c.rights), right)
	return c
}

func (c caller) user() user.Info {
	u := &user.DefaultInfo{Name: c.name, Groups: []string{user.AllAuthenticated}}
	if strings.HasPrefix(c.name, "system:serviceaccount:") {
		u.Groups = append(u.Groups, "system:serviceaccounts")
	}
	if c.node != "" {
		u.Extra = map[string][]string{"authentication.kubernetes.io/node-name": {c.node}}
	}
	return u
}

func object(t testing.TB, text string) runtime.Object {
	t.Helper()
	if text == "" {
		return nil
	}
	o := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict([]byte(text), &o.Object); err != nil {
		t.Fatal(err)
	}
	o.SetAPIVersion("lifecycle.k8s.io/v1alpha1")
	o.SetKind("Any")
	return o
}

// namespaceOf is that of an object; none, if there is no object.
func namespaceOf(o runtime.Object) string {
	if u, ok := o.(*unstructured.Unstructured); ok {
		return u.GetNamespace()
	}
	return ""
}

func (r request) attributes(t testing.TB) *admission.VersionedAttributes {
	t.Helper()
	before, now, operation := object(t, r.before), object(t, r.now), admission.Update
	switch {
	case before == nil:
		operation = admission.Create
	case now == nil:
		operation = admission.Delete
	}
	resource, subresource, _ := strings.Cut(r.resource, "/")
	gv := schema.GroupVersion{Group: "lifecycle.k8s.io", Version: "v1alpha1"}
	a := &admission.VersionedAttributes{
		Attributes: admission.NewAttributesRecord(now, before, gv.WithKind("Any"), namespaceOf(now), "any", gv.WithResource(resource), subresource,
			operation, nil, false, r.by.user()),
		VersionedKind: gv.WithKind("Any"),
	}
	if now != nil {
		a.VersionedObject.Set(now)
	}
	if before != nil {
		a.VersionedOldObject.Set(before)
	}
	return a
}

// refusal is what the policy says against a request, with a parameter where it has any;
// nothing, if it accepts it.
func (r request) refusal(t *testing.T, by validating.Validator, parameter runtime.Object) string {
	t.Helper()
	a := r.attributes(t)
	result := by.Validate(t.Context(), a.GetResource(), a, parameter, nil, celconfig.RuntimeCELCostBudget, r.by)
	for _, decision := range result.Decisions {
		if decision.Action == validating.ActionDeny {
			return decision.Message
		}
	}
	return ""
}

// refusals checks what a policy says, by the beginnings of its words.
func refusals(t *testing.T, file string, cases map[string]refused) {
	t.Helper()
	policy := validator(t, file)
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := tc.refusal(t, policy, nil)
			if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
				t.Errorf("it says %q, want %q", got, tc.want)
			}
		})
	}
}

// refused is a request, and with which words it is refused; none: it is accepted.
type refused struct {
	request
	want string
}

// specAfter is the spec that a mutating policy leaves, as JSON.
func (r request) specAfter(t *testing.T, by mutator) string {
	t.Helper()
	spec, err := json.Marshal(r.after(t, by, nil).Object["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return string(spec)
}

// after is what a mutating policy leaves, with a parameter where it has any.
func (r request) after(t *testing.T, by mutator, parameter runtime.Object) *unstructured.Unstructured {
	t.Helper()
	a := r.attributes(t)
	ctx := by.compiler.CreateContext(t.Context())
	matched := by.matcher.Match(ctx, a, parameter, r.by)
	if matched.Error != nil {
		t.Fatal(matched.Error)
	}
	after := a.VersionedObject.Object()
	if matched.Matches {
		var err error
		after, err = by.patcher.Patch(ctx, patch.Request{
			MatchedResource: a.GetResource(), VersionedAttributes: a,
			ObjectInterfaces:  admission.NewObjectInterfacesFromScheme(runtime.NewScheme()),
			OptionalVariables: cel.OptionalVariableBindings{VersionedParams: parameter, Authorizer: r.by},
		}, celconfig.RuntimeCELCostBudget)
		if err != nil {
			t.Fatal(err)
		}
	}
	return after.(*unstructured.Unstructured)
}
