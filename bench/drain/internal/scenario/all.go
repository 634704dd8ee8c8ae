// SPDX-License-Identifier: Apache-2.0

package scenario

import "time"

// All are the scenarios.
func All() []Scenario {
	return []Scenario{
		{
			Key: "a", Title: "100 pods of 600, no budget, gone after 1 s",
			Nodes: 6, Drained: 1, AppCount: 1, Replicas: 600,
			Ready: Exactly(time.Second), Gone: Exactly(time.Second),
		},
		{
			Key: "b", Title: "20 pods of 120 under one budget of maxUnavailable 2, ready after about 1.2 s, gone after 1 s",
			Nodes: 6, Drained: 1, AppCount: 20, Replicas: 6, Budgets: Shared, MaxUnavailable: 2,
			Ready: Exactly(time.Second), Gone: Exactly(time.Second),
		},
		{
			Key: "c", Title: "20 pods of 120 under one budget of maxUnavailable 2, ready after 1 to 4 s, gone after up to 30 s",
			Nodes: 6, Drained: 1, AppCount: 20, Replicas: 6, Budgets: Shared, MaxUnavailable: 2,
			Ready: Span{time.Second, 4 * time.Second}, Gone: Span{500 * time.Millisecond, 30 * time.Second},
		},
		{
			Key: "d", Title: "100 pods of 300 under 10 budgets of maxUnavailable 2, 10 pods each, ready after about 1.2 s, gone after 1 s",
			Nodes: 3, Drained: 1, AppCount: 10, Replicas: 30, Budgets: PerApp, MaxUnavailable: 2,
			Ready: Exactly(time.Second), Gone: Exactly(time.Second),
		},
		{
			Key: "e", Title: "10 nodes at once, 30 pods each, under 10 budgets of maxUnavailable 2 that all nodes share, ready after 1 to 3 s, gone after 1 to 5 s",
			Nodes: 16, Drained: 10, AppCount: 10, Replicas: 48, Budgets: PerApp, MaxUnavailable: 2,
			Ready: Span{time.Second, 3 * time.Second}, Gone: Span{time.Second, 5 * time.Second},
		},
		{
			Key: "f", Title: "1 pod that its budget never lets go, for 60 s",
			Nodes: 6, Drained: 1, AppCount: 1, Replicas: 6, Budgets: Shared, MaxUnavailable: 0,
			Ready: Exactly(time.Second), Gone: Exactly(time.Second), Blocked: time.Minute,
		},
		{
			Key: "g", Title: "(b) with pods ready after about 10.2 s, and replacements first: Slipway's surge",
			Nodes: 6, Drained: 1, AppCount: 20, Replicas: 6, Budgets: Shared, MaxUnavailable: 2,
			Ready: Exactly(10 * time.Second), Gone: Exactly(time.Second), Surge: true,
		},
		{
			Key: "h", Title: "(c) with replacements first",
			Nodes: 6, Drained: 1, AppCount: 20, Replicas: 6, Budgets: Shared, MaxUnavailable: 2,
			Ready: Span{time.Second, 4 * time.Second}, Gone: Span{500 * time.Millisecond, 30 * time.Second}, Surge: true,
		},
		{
			Key: "i", Title: "a fleet of 50 nodes, each drained and returned, at most 10 out at a time: 1,500 pods under 30 budgets of maxUnavailable 3 that all nodes share, ready after 1 to 3 s, gone after 1 to 5 s; kubectl in a loop, one node after the other",
			Nodes: 50, Drained: 50, AppCount: 30, Replicas: 50, Budgets: PerApp, MaxUnavailable: 3,
			Ready: Span{time.Second, 3 * time.Second}, Gone: Span{time.Second, 5 * time.Second}, Fleet: 10,
		},
		{
			Key: "j", Title: "(e) in central mode: one process drains the 10 nodes, and not 10 agents",
			Nodes: 16, Drained: 10, AppCount: 10, Replicas: 48, Budgets: PerApp, MaxUnavailable: 2,
			Ready: Span{time.Second, 3 * time.Second}, Gone: Span{time.Second, 5 * time.Second}, Central: true,
		},
		{
			Key: "k", Title: "(i) with pods as in (c): ready after 1 to 4 s, gone after up to 30 s",
			Nodes: 50, Drained: 50, AppCount: 30, Replicas: 50, Budgets: PerApp, MaxUnavailable: 3,
			Ready: Span{time.Second, 4 * time.Second}, Gone: Span{500 * time.Millisecond, 30 * time.Second}, Fleet: 10,
		},
	}
}

// MostNodes is how many nodes a cluster needs for the scenarios.
func MostNodes(scenarios []Scenario) int {
	most := 0
	for _, s := range scenarios {
		most = max(most, s.Nodes)
	}
	return most
}

// MostDrained is how many nodes are drained at most.
func MostDrained(scenarios []Scenario) int {
	most := 0
	for _, s := range scenarios {
		most = max(most, s.Drained)
	}
	return most
}
