// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/matchconditions"
	"k8s.io/apiserver/pkg/cel/environment"
	"sigs.k8s.io/yaml"
)

// documents are those of a file in config/admission, of one kind.
func documents[T any](t testing.TB, file, kind string) (found []*T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "config", "admission", filepath.FromSlash(file)))
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var of metav1.TypeMeta
		if err := yaml.Unmarshal([]byte(document), &of); err != nil {
			t.Fatal(err)
		}
		if of.Kind != kind {
			continue
		}
		object := new(T)
		if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
			t.Fatal(err)
		}
		found = append(found, object)
	}
	if len(found) == 0 {
		t.Fatalf("%s has no %s", file, kind)
	}
	return found
}

// withAuthorizer is what expressions may use.
var withAuthorizer = cel.OptionalVariableDeclarations{HasAuthorizer: true}

// compiler compiles the expressions of one policy.
type compiler struct {
	t testing.TB
	*cel.CompositedCompiler
}

func newCompiler(t testing.TB, variables []admissionregistrationv1.Variable, options cel.OptionalVariableDeclarations) compiler {
	t.Helper()
	c, err := cel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		t.Fatal(err)
	}
	var named []cel.NamedExpressionAccessor
	for _, v := range variables {
		named = append(named, &validating.Variable{Name: v.Name, Expression: v.Expression})
	}
	c.CompileAndStoreVariables(named, options, environment.NewExpressions)
	return compiler{t, c}
}

// conditions fails the test where one cannot be compiled.
func (c compiler) conditions(expressions []cel.ExpressionAccessor, options cel.OptionalVariableDeclarations) cel.ConditionEvaluator {
	c.t.Helper()
	compiled := c.CompileCondition(expressions, options, environment.NewExpressions)
	for _, err := range compiled.CompilationErrors() {
		c.t.Error(err)
	}
	return compiled
}

func (c compiler) matcher(
	name string, conditions []admissionregistrationv1.MatchCondition, policy *admissionregistrationv1.FailurePolicyType,
	options cel.OptionalVariableDeclarations,
) matchconditions.Matcher {
	c.t.Helper()
	var expressions []cel.ExpressionAccessor
	for i := range conditions {
		expressions = append(expressions, (*matchconditions.MatchCondition)(&conditions[i]))
	}
	return matchconditions.NewMatcher(c.conditions(expressions, options), policy, "policy", "validate", name)
}

// validator is the validating policy of a file.
func validator(t testing.TB, file string) validating.Validator {
	t.Helper()
	policy := documents[admissionregistrationv1.ValidatingAdmissionPolicy](t, file, "ValidatingAdmissionPolicy")[0]
	return validatorOf(t, policy.Name, policy.Spec)
}

func validatorOf(t testing.TB, name string, spec admissionregistrationv1.ValidatingAdmissionPolicySpec) validating.Validator {
	t.Helper()
	options := withAuthorizer
	options.HasParams = spec.ParamKind != nil
	c := newCompiler(t, spec.Variables, options)
	var validations, messages []cel.ExpressionAccessor
	for _, v := range spec.Validations {
		validations = append(validations, &validating.ValidationCondition{Expression: v.Expression, Message: v.Message, Reason: v.Reason})
		var message cel.ExpressionAccessor
		if v.MessageExpression != "" {
			message = &validating.MessageExpressionCondition{MessageExpression: v.MessageExpression}
		}
		messages = append(messages, message)
	}
	return validating.NewValidator(
		c.conditions(validations, options), c.matcher(name, spec.MatchConditions, spec.FailurePolicy, options),
		c.conditions(nil, options), c.conditions(messages, cel.OptionalVariableDeclarations{HasParams: options.HasParams}), spec.FailurePolicy, nil)
}

// mutator is the mutating policy of a file, which has one JSON patch.
type mutator struct {
	compiler compiler
	matcher  matchconditions.Matcher
	patcher  patch.Patcher
}

func newMutator(t testing.TB, file string) mutator {
	t.Helper()
	policy := documents[admissionregistrationv1.MutatingAdmissionPolicy](t, file, "MutatingAdmissionPolicy")[0]
	if n := len(policy.Spec.Mutations); n != 1 {
		t.Fatalf("%s has %d mutations, want 1", file, n)
	}
	options := withAuthorizer
	options.HasParams = policy.Spec.ParamKind != nil
	c := newCompiler(t, policy.Spec.Variables, options)
	matcher := c.matcher(policy.Name, policy.Spec.MatchConditions, policy.Spec.FailurePolicy, options)
	options.HasPatchTypes = true
	expression := &patch.JSONPatchCondition{Expression: policy.Spec.Mutations[0].JSONPatch.Expression}
	evaluator := c.CompileMutatingEvaluator(expression, options, environment.NewExpressions)
	for _, err := range evaluator.CompilationErrors() {
		t.Error(err)
	}
	return mutator{c, matcher, patch.NewJSONPatcher(evaluator)}
}
