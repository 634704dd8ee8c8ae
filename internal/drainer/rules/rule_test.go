// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/drain"
)

// ruleOf reads a spec in YAML.
func ruleOf(t *testing.T, namespace, name, spec string) *slipwayv1alpha1.DrainRule {
	t.Helper()
	r := &slipwayv1alpha1.DrainRule{}
	r.Namespace, r.Name, r.ResourceVersion = namespace, name, "1"
	if err := yaml.UnmarshalStrict([]byte(spec), &r.Spec); err != nil {
		t.Fatal(err)
	}
	return r
}

// inWords is what was told, in a line for each rule.
func inWords(rules []drain.Rule, err error) []string {
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	var lines []string
	for _, r := range rules {
		level := "own"
		if r.Cluster {
			level = "cluster"
		}
		line := fmt.Sprintf("%s %s: %s %s order %d deadline %s", level, r.Name, r.Behavior, r.Pods, r.Order, r.Deadline)
		if r.Why != "" {
			line += " why " + r.Why
		}
		if r.Nodes != nil {
			line += fmt.Sprintf(" nodes %s", r.Nodes)
		}
		lines = append(lines, line)
	}
	return lines
}

func TestTheRulesOfANamespaceArePicked(t *testing.T) {
	const (
		own     = "slipway-system"
		skipAll = `{podSelector: {}, behavior: Skip}`
	)
	type entry struct{ namespace, name, spec string }
	for name, tc := range map[string]struct {
		rules []entry
		want  []string // for namespace shop, which has the label team=a
	}{
		"none": {},
		"its own, by name": {
			[]entry{
				{"shop", "b", `{podSelector: {matchLabels: {app: db}}, behavior: Evict, order: 7, deadline: 90s}`},
				{"shop", "a", `{podSelector: {}, behavior: WaitCompleted}`},
			},
			[]string{"own shop/a: WaitCompleted  order 0 deadline 0s", "own shop/b: Evict app=db order 7 deadline 1m30s"},
		},
		"its own, for some nodes": {
			[]entry{{"shop", "a", `{podSelector: {}, nodeSelector: {matchLabels: {pool: edge}}, behavior: Skip}`}},
			[]string{"own shop/a: Skip  order 0 deadline 0s nodes pool=edge"},
		},
		"none while nodes cannot be read": {
			[]entry{{"shop", "b", `{podSelector: {}, nodeSelector: {matchExpressions: [{key: a, operator: Around}]}, behavior: Skip}`}},
			[]string{`error: bad rule: DrainRule shop/b: spec.nodeSelector: "Around" is not a valid label selector operator`},
		},
		"not those of others": {[]entry{{"other", "a", skipAll}, {own, "a", skipAll}}, nil},
		"those of the cluster": {
			[]entry{
				{own, "all", `{podSelector: {}, namespaceSelector: {}, behavior: Evict, deadline: 1h}`},
				{own, "hers", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Skip}`},
				{own, "his", `{podSelector: {}, namespaceSelector: {matchLabels: {team: b}}, behavior: Skip}`},
			},
			[]string{"cluster slipway-system/all: Evict  order 0 deadline 1h0m0s", "cluster slipway-system/hers: Skip  order 0 deadline 0s"},
		},
		"no rule of the cluster from elsewhere": {
			[]entry{{"shop", "a", `{podSelector: {}, namespaceSelector: {}, behavior: Skip}`}}, nil,
		},
		"none while one cannot be read": {
			[]entry{{"shop", "a", skipAll}, {"shop", "b", `{podSelector: {matchLabels: {"a b": c}}, behavior: Skip}`}},
			[]string{`error: bad rule: DrainRule shop/b: spec.podSelector: key: Invalid value: "a b": name part must consist of alphanumeric ` +
				`characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  ` +
				`or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`},
		},
		"what cannot be read elsewhere does not matter": {
			[]entry{{"shop", "a", skipAll}, {"other", "b", `{podSelector: {}, behavior: Teleport}`}},
			[]string{"own shop/a: Skip  order 0 deadline 0s"},
		},
		"a behavior to come": {
			[]entry{{"shop", "b", `{podSelector: {}, behavior: Teleport}`}},
			[]string{`error: bad rule: DrainRule shop/b: spec.behavior: "Teleport" is not known here`},
		},
		"a rule of the cluster for nobody knows whom": {
			[]entry{{own, "b", `{podSelector: {}, namespaceSelector: {matchExpressions: [{key: a, operator: Around}]}, behavior: Skip}`}},
			[]string{`error: bad rule: DrainRule slipway-system/b: spec.namespaceSelector: "Around" is not a valid label selector operator`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var all []*rule
			for _, e := range tc.rules {
				all = append(all, toRule(logr.Discard(), ruleOf(t, e.namespace, e.name, e.spec), own))
			}
			got := pick(all, "shop", labels.Set{"team": "a"})
			if diff := cmp.Diff(tc.want, inWords(got.rules, got.err)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheLabelsOfANamespaceAreNeededOnlyToSelectByThem(t *testing.T) {
	for spec, want := range map[string]bool{
		`{podSelector: {}, behavior: Skip}`:                                                          false,
		`{podSelector: {}, behavior: Skip, namespaceSelector: {}}`:                                   false,
		`{podSelector: {}, behavior: Evict, deadline: 1s, namespaceSelector: {matchLabels: {a: b}}}`: true,
	} {
		got := toRule(logr.Discard(), ruleOf(t, "own", "r", spec), "own")
		if got.needsLabels() != want || got.Deadline > time.Second {
			t.Errorf("%s needs labels: %t; want %t", spec, got.needsLabels(), want)
		}
		if toRule(logr.Discard(), ruleOf(t, "other", "r", spec), "own").needsLabels() {
			t.Errorf("%s needs labels elsewhere", spec)
		}
	}
}

func TestAListingSaysWhatAWatchWould(t *testing.T) {
	listing := Listed([]slipwayv1alpha1.DrainRule{
		*ruleOf(t, "shop", "a", `{podSelector: {}, behavior: Skip}`),
		*ruleOf(t, "own", "hers", `{podSelector: {}, namespaceSelector: {matchLabels: {team: a}}, behavior: Evict, deadline: 1h}`),
		*ruleOf(t, "bad", "b", `{podSelector: {}, behavior: Teleport}`),
	}, "own")
	const hers = "cluster own/hers: Evict  order 0 deadline 1h0m0s"
	for namespace, tc := range map[string]struct {
		set  labels.Set
		want []string
	}{
		"shop":  {labels.Set{"team": "a"}, []string{hers, "own shop/a: Skip  order 0 deadline 0s"}},
		"other": {nil, nil},
		"bad":   {nil, []string{`error: bad rule: DrainRule bad/b: spec.behavior: "Teleport" is not known here`}},
	} {
		if diff := cmp.Diff(tc.want, inWords(listing.For(namespace, tc.set))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", namespace, diff)
		}
	}
}
