// SPDX-License-Identifier: Apache-2.0

package auditcheck

import (
	"fmt"
	"testing"
	"time"
)

// budgetVersion writes a version of the budget.
func (s *script) budgetVersion(resourceVersion, allowed int) *script {
	return s.add("kcm", "update", "poddisruptionbudgets/status", "shop/web", "", fmt.Sprintf(
		`{"kind":"PodDisruptionBudget","metadata":{"name":"web","namespace":"shop","uid":"web","resourceVersion":"%d"},"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":%d}}`,
		resourceVersion, allowed))
}

// began moves the beginning of the last request.
func (s *script) began(ago time.Duration) *script {
	last := &s.requests[len(s.requests)-1]
	last.Began = last.Ended.Add(-ago)
	return s
}

func TestCheckOfBudgets(t *testing.T) {
	refused := []string{"budget shop/web allowed 0 disruptions"}
	for name, tc := range map[string]outcome{
		"a budget that is gone": {
			script: begun().budget(0).add(user, "delete", "poddisruptionbudgets", "shop/web", "", "{}").evict(agent, "a", "1").end("drain"),
		},
		"all budgets of the namespace are gone": {
			script: begun().budget(0).add(user, "deletecollection", "poddisruptionbudgets", "shop/", "", "{}").evict(agent, "a", "1").end("drain"),
		},
		"a version that was written while its deletion was asked for": {
			script: begun().budgetVersion(7, 0).budgetVersion(8, 0).
				add(user, "delete", "poddisruptionbudgets", "shop/web", "", "{}").began(1500*time.Millisecond).
				evict(agent, "a", "1").end("drain"),
		},
		"another budget of the name of one that is gone": {
			script: begun().budgetVersion(7, 1).add(user, "delete", "poddisruptionbudgets", "shop/web", "", "{}").budget(0).
				passes(1).evict(agent, "a", "1").end("drain"),
			want: refused,
		},
		"all budgets of another namespace are gone": {
			script: begun().budget(0).add(user, "deletecollection", "poddisruptionbudgets", "bank/", "", "{}").evict(agent, "a", "1").end("drain"),
			want:   refused,
		},
		"an older version that is answered last": {
			script: begun().budgetVersion(7, 0).budgetVersion(6, 1).passes(1).evict(agent, "a", "1").end("drain"),
			want:   refused,
		},
		"a version that was in force, and whose writer had its answer last": {
			script: begun().budget(0).passes(1).evict(agent, "a", "1").budget(1).began(2 * time.Second).end("drain"),
		},
		"a version that came after the eviction": {
			script: begun().budget(0).passes(1).evict(agent, "a", "1").budget(1).end("drain"),
			want:   refused,
		},
		"a budget for the pods of another app": {
			script: begun().add(user, "create", "poddisruptionbudgets", "shop/db", "",
				`{"kind":"PodDisruptionBudget","metadata":{"name":"db","namespace":"shop"},"spec":{"selector":{"matchLabels":{"app":"db"}}},"status":{}}`).
				evict(agent, "a", "1").end("drain"),
		},
		"a pod that is being deleted needs no budget": {
			script: begun().budget(0).deletes(user, "a", `{}`).evict(agent, "a", "1").end("drain"),
		},
	} {
		t.Run(name, tc.check)
	}
}

// The server enters an eviction into the budget before it answers, and the controller
// may write the budget anew before that answer.
func TestAnEvictionThatTheBudgetHasCountedIsNotCountedAgain(t *testing.T) {
	counted := `{"kind":"PodDisruptionBudget","metadata":{"name":"web","namespace":"shop"},"spec":{"selector":{"matchLabels":{"app":"web"}}},"status":{"disruptionsAllowed":0,"disruptedPods":{"a":"2026-01-02T03:04:05Z"}}}`
	for name, tc := range map[string]struct {
		controllerAllows int
		violations       int
	}{
		"and the controller allows one more":      {controllerAllows: 1},
		"and the controller allows none any more": {controllerAllows: 0, violations: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := begun().pod("b", "2", "w1", "").
				add("apiserver", "update", "poddisruptionbudgets/status", "shop/web", "", counted).
				budget(tc.controllerAllows).evict(agent, "a", "1")
			s.requests[len(s.requests)-1].Began = s.requests[len(s.requests)-4].Ended
			if got := Check(s.evict(agent, "b", "2").end("drain").requests, Options{}); len(got) != tc.violations {
				t.Errorf("%d violations, want %d: %v", len(got), tc.violations, got)
			}
		})
	}
}
