// SPDX-License-Identifier: Apache-2.0

package harness

import (
	"encoding/json"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

// Rule creates a DrainRule: unless it is changed, one that evicts all pods of its
// namespace.
func (e *Env) Rule(t *testing.T, namespace, name string, change ...func(*slipwayv1alpha1.DrainRuleSpec)) *slipwayv1alpha1.DrainRule {
	t.Helper()
	rule := &slipwayv1alpha1.DrainRule{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       slipwayv1alpha1.DrainRuleSpec{Behavior: slipwayv1alpha1.DrainEvict},
	}
	for _, f := range change {
		f(&rule.Spec)
	}
	if err := e.Client.Create(t.Context(), rule); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.deleteQuietly(rule) })
	return rule
}

// ForApp is a change of a rule: it is for the pods of an app.
func ForApp(app string) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) { s.PodSelector.MatchLabels = map[string]string{"app": app} }
}

// Behaves is a change of a rule.
func Behaves(b slipwayv1alpha1.DrainBehavior) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) { s.Behavior = b }
}

// InNamespaces is a change of a rule in Slipway's own namespace: it is for namespaces
// with these labels.
func InNamespaces(labels map[string]string) func(*slipwayv1alpha1.DrainRuleSpec) {
	return func(s *slipwayv1alpha1.DrainRuleSpec) {
		s.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
	}
}

// RawParameters is a change of an event: what it tells its driver, as JSON.
func RawParameters(text string) func(*lifecyclev1alpha1.LifecycleEvent) {
	return func(e *lifecyclev1alpha1.LifecycleEvent) {
		e.Spec.Parameters = &runtime.RawExtension{Raw: []byte(text)}
	}
}

// Parameters is a change of an event: what it tells the drain driver.
func Parameters(t *testing.T, change func(*slipwayv1alpha1.DrainParameters)) func(*lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	parameters := &slipwayv1alpha1.DrainParameters{}
	parameters.APIVersion, parameters.Kind = slipwayv1alpha1.GroupVersion.String(), "DrainParameters"
	change(parameters)
	text, err := json.Marshal(parameters)
	if err != nil {
		t.Fatal(err)
	}
	return RawParameters(string(text))
}

// Namespace creates a namespace of the test's own.
func (e *Env) Namespace(t *testing.T, labels map[string]string) *corev1.Namespace {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-", Labels: labels}}
	if err := e.Client.Create(t.Context(), namespace); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.deleteQuietly(namespace) })
	return namespace
}
