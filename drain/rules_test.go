// SPDX-License-Identifier: Apache-2.0

package drain

import (
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestRulesThatWereToldStayInForceUnlessOneIsBad(t *testing.T) {
	w := &ruleWatch{}
	w.take(nil, errors.New("away"))
	if _, known := w.list(); known {
		t.Error("rules are known that were never told")
	}
	w.take([]Rule{rule("b", Skip), rule("a", Evict)}, nil)
	w.take(nil, errors.New("away"))
	if rules, known := w.list(); !known || len(rules) != 2 || rules[0].Name != "a" || w.Err() == nil {
		t.Errorf("got %v, known: %t, trouble: %v", rules, known, w.Err())
	}
	for name, tell := range map[string]func(){
		"the reader says so":  func() { w.take(nil, fmt.Errorf("%w: c", ErrBadRule)) },
		"it selects nothing":  func() { w.take([]Rule{{Name: "c", Behavior: Evict}}, nil) },
		"its behavior is new": func() { w.take([]Rule{rule("c", "Restart")}, nil) },
	} {
		w.take([]Rule{rule("a", Evict)}, nil)
		tell()
		if _, known := w.list(); known || !errors.Is(w.Err(), ErrBadRule) {
			t.Errorf("%s: known: %t, trouble: %v", name, known, w.Err())
		}
	}
}

func TestABadRuleHoldsItsNamespaceAndNoOther(t *testing.T) {
	f := calm()
	f.ruled, f.rules, f.rulesBad = true, map[string][]Rule{"other": nil}, map[string]bool{"default": true}
	f.budgets["other"] = nil
	f.pods = []*corev1.Pod{newPod("a"), newPod("b", func(p *corev1.Pod) { p.Namespace = "other" })}
	p := decide(f)
	if len(p.evict) != 1 || p.evict[0].pod.Name != "b" {
		t.Errorf("sent %v, want b alone", p.evict)
	}
	f.rulesBad = nil // not read yet, which may change who goes first
	if p := decide(f); len(p.evict) != 0 {
		t.Errorf("sent %v before the rules of all namespaces were read", p.evict)
	}
}
