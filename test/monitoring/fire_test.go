// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/promqltest"
)

// evaluated is how often rules are.
const evaluated = 30 * time.Second

// A case are series, one sample a minute as promtool writes them, and which alerts fire at
// a time.
type situation struct {
	series string
	at     time.Duration
	want   []string // labels of what fires
}

// What is due at 20m stands since 5m: 300 is the Unix time then, where all begin at 0.
var situations = map[string]map[string]situation{
	"SlipwayBlocked": {
		"a node that has been blocked for a quarter of an hour": {
			`slipway_node_blocked_timestamp_seconds{node="a", reason="R"} 300x30`, 22 * time.Minute, []string{`{node="a", reason="R"}`},
		},
		"not yet": {`slipway_node_blocked_timestamp_seconds{node="a", reason="R"} 300x30`, 19 * time.Minute, nil},
		"not when it is over": {
			`slipway_node_blocked_timestamp_seconds{node="a", reason="R"} 300x15 stale`, 22 * time.Minute, nil,
		},
		"not by reasons that take turns": {
			"slipway_node_blocked_timestamp_seconds{node=\"a\", reason=\"R\"} 300x15 stale\n" +
				`slipway_node_blocked_timestamp_seconds{node="a", reason="S"} _x15 900x30`, 22 * time.Minute, nil,
		},
		"not a pod that stays while others leave": {
			blocked("R") + "\n" + `slipway_node_progress_timestamp_seconds{node="a"} 0+60x60`, 40 * time.Minute, nil,
		},
		"not what a rule wants to wait for": {blocked("WaitingForCompletion"), 40 * time.Minute, nil},
		"a quarter of an hour after the last that leaves": {
			blocked("R") + "\n" + `slipway_node_progress_timestamp_seconds{node="a"} 0+60x20 1200x40`, 37 * time.Minute, []string{`{node="a", reason="R"}`},
		},
		"not before that": {
			blocked("R") + "\n" + `slipway_node_progress_timestamp_seconds{node="a"} 0+60x20 1200x40`, 34 * time.Minute, nil,
		},
		"another node that gets on does not matter": {
			blocked("R") + "\n" + `slipway_node_progress_timestamp_seconds{node="b"} 0+60x60`, 40 * time.Minute, []string{`{node="a", reason="R"}`},
		},
		"once, where agent and controller say so": {
			"slipway_node_blocked_timestamp_seconds{job=\"a\", node=\"a\", reason=\"R\"} 300x30\n" +
				`slipway_node_blocked_timestamp_seconds{job="b", node="a", reason="R"} 400x30`, 25 * time.Minute, []string{`{node="a", reason="R"}`},
		},
	},
	"SlipwayDeadlineNear": {
		"with three quarters of the time over": {timed(0, 2400), 31 * time.Minute, []string{`{node="a"}`}},
		"when it is over":                      {timed(0, 2400), 41 * time.Minute, []string{`{node="a"}`}},
		"not before":                           {timed(0, 2400), 29 * time.Minute, nil},
		"not where there is no deadline": {
			`slipway_node_claimed_timestamp_seconds{node="a"} 0x60`, 50 * time.Minute, nil,
		},
	},
	"SlipwayStalled": {
		"an agent that does nothing": {stalled("AgentNotResponding"), 5 * time.Minute, []string{`{node="a", reason="AgentNotResponding"}`}},
		"another mode":               {stalled("ClaimModeChanged"), 5 * time.Minute, []string{`{node="a", reason="ClaimModeChanged"}`}},
		"not at once":                {stalled("AgentNotResponding"), time.Minute, nil},
		"not an agent that is down":  {stalled("AgentNotReady"), 15 * time.Minute, nil},
	},
	"SlipwayAgentDown": {
		"an agent that is not Ready": {stalled("AgentNotReady"), 6 * time.Minute, []string{`{node="a", reason="AgentNotReady"}`}},
		"no agent":                   {stalled("AgentMissing"), 6 * time.Minute, []string{`{node="a", reason="AgentMissing"}`}},
		"not one that restarts":      {stalled("AgentNotReady"), 4 * time.Minute, nil},
		"not one that does nothing":  {stalled("AgentNotResponding"), 15 * time.Minute, nil},
	},
	"SlipwayHeldBack": {
		"for an hour": {`slipway_lifecycle_events_held_back{reason="NodeAvailabilityBudget"} 2x90`, 62 * time.Minute, []string{`{reason="NodeAvailabilityBudget"}`}},
		"not before":  {`slipway_lifecycle_events_held_back{reason="NodeAvailabilityBudget"} 2x90`, 58 * time.Minute, nil},
		"not after":   {`slipway_lifecycle_events_held_back{reason="NodeAvailabilityBudget"} 2x30 stale`, 62 * time.Minute, nil},
	},
	"SlipwayHoldOverdue": {
		"a holder who is late": {heldUntil("300x40"), 11 * time.Minute, []string{`{node="a"}`}},
		"not at once":          {heldUntil("300x40"), 9 * time.Minute, nil},
		"not before":           {heldUntil("1200x40"), 19 * time.Minute, nil},
		"not after the return": {heldUntil("300x8 stale"), 11 * time.Minute, nil},
		"not with more time":   {heldUntil("300x8 3000x40"), 15 * time.Minute, nil},
	},
	"SlipwayNotClaimed": {
		"events that nobody claims": {pending("AgentMissing"), 12 * time.Minute, []string{`{reason="AgentMissing"}`}},
		"nobody has noticed":        {pending("NotNoticed"), 12 * time.Minute, []string{`{reason="NotNoticed"}`}},
		"not yet":                   {pending("AgentMissing"), 9 * time.Minute, nil},
		"not what waits its turn":   {pending("WaitingForTurn"), 40 * time.Minute, nil},
		"not what is held":          {pending("Gated"), 40 * time.Minute, nil},
	},
	"SlipwayDriverFailing": {
		"calls that fail again and again": {calls("Unavailable", "0+1x40"), 20 * time.Minute, []string{`{code="Unavailable", driver="d"}`}},
		"not some":                        {calls("Unavailable", "0x5 2x40"), 12 * time.Minute, nil},
		"not those that succeed":          {calls("OK", "0+10x40"), 20 * time.Minute, nil},
		"not those that are given up":     {calls("Canceled", "0+10x40"), 20 * time.Minute, nil},
	},
	"SlipwayTransitionFailed": {
		"the first that fails":             {finished("SlaExpired", "SlaExpired", "_x20 1x40"), 22 * time.Minute, []string{`{phase="SlaExpired", reason="SlaExpired", transition="t"}`}},
		"a further one":                    {finished("Failed", "DriverFailed", "3x20 4x40"), 25 * time.Minute, []string{`{phase="Failed", reason="DriverFailed", transition="t"}`}},
		"not for ever":                     {finished("Failed", "DriverFailed", "_x20 1x60"), 45 * time.Minute, nil},
		"not one that somebody canceled":   {finished("Failed", "Canceled", "_x20 1x40"), 22 * time.Minute, nil},
		"not one that reaches its end":     {finished("Succeeded", "Succeeded", "0+1x40"), 22 * time.Minute, nil},
		"not a process that is only there": {finished("Failed", "DriverFailed", "3x60"), 40 * time.Minute, nil},
	},
	"SlipwayBreakGlass": {
		"the first time": {`slipway_lifecycle_events_break_glass_total{transition="t"} _x20 1x40`, 22 * time.Minute, []string{`{transition="t"}`}},
		"again":          {`slipway_lifecycle_events_break_glass_total{transition="t"} 1x20 2x40`, 25 * time.Minute, []string{`{transition="t"}`}},
		"not for ever":   {`slipway_lifecycle_events_break_glass_total{transition="t"} _x20 1x60`, 45 * time.Minute, nil},
	},
	"SlipwayBudgetsOverridden": {
		"the first time": {`slipway_lifecycle_events_budgets_overridden_total{transition="t"} _x20 1x40`, 22 * time.Minute, []string{`{transition="t"}`}},
		"again":          {`slipway_lifecycle_events_budgets_overridden_total{transition="t"} 1x20 2x40`, 25 * time.Minute, []string{`{transition="t"}`}},
		"not for ever":   {`slipway_lifecycle_events_budgets_overridden_total{transition="t"} _x20 1x60`, 45 * time.Minute, nil},
	},
	"SlipwayMaintenanceStands": {
		"too many have failed":       {standing("FailureThreshold", "1x40"), 17 * time.Minute, []string{`{maintenance="m", reason="FailureThreshold"}`}},
		"drains wait for each other": {standing("Deadlock", "1x40"), 17 * time.Minute, []string{`{maintenance="m", reason="Deadlock"}`}},
		"not yet":                    {standing("FailureThreshold", "1x40"), 14 * time.Minute, nil},
		"not when it moves again":    {standing("FailureThreshold", "1x10 stale"), 17 * time.Minute, nil},
		"not if somebody paused it":  {standing("Paused", "1x60"), 40 * time.Minute, nil},
		"not before its window":      {standing("BeforeWindow", "1x60"), 40 * time.Minute, nil},
		"not one that is planned":    {standing("Idle", "1x60"), 40 * time.Minute, nil},
		"not nodes that come back":   {standing("MaxUnavailable", "1x60"), 40 * time.Minute, nil},
	},
	"SlipwayMaintenanceStuck": {
		"one that has not got on for an hour": {stuck("300x90"), 67 * time.Minute, []string{`{maintenance="m"}`}},
		"not yet":                             {stuck("300x90"), 64 * time.Minute, nil},
		"not one that gets on":                {stuck("0+60x90"), 80 * time.Minute, nil},
		"not when it waits for somebody":      {stuck("300x40 stale"), 67 * time.Minute, nil},
		"an hour after it got on last":        {stuck("300x30 1860x90"), 93 * time.Minute, []string{`{maintenance="m"}`}},
		"not an hour after it stuck first":    {stuck("300x30 1860x90"), 80 * time.Minute, nil},
		"not where it was seen for long":      {`slipway_maintenance_progress_timestamp_seconds{maintenance="m"} 300x90`, 80 * time.Minute, nil},
		"once, also when the controller changes": {
			"slipway_maintenance_stuck_timestamp_seconds{pod=\"a\", maintenance=\"m\"} 300x90\n" +
				`slipway_maintenance_stuck_timestamp_seconds{pod="b", maintenance="m"} 360x90`, 70 * time.Minute, []string{`{maintenance="m"}`},
		},
	},
	"SlipwayMaintenanceNodeFailed": {
		"one that has failed":     {inState("failed", "1x40"), 6 * time.Minute, []string{`{maintenance="m"}`}},
		"not at once":             {inState("failed", "1x40"), 4 * time.Minute, nil},
		"not one that is retried": {inState("failed", "1x3 0x40"), 10 * time.Minute, nil},
		"not those that are out":  {inState("out", "1x40"), 30 * time.Minute, nil},
	},
	"SlipwayShutdownUnfinished": {
		"the first":                        {shutdowns("ShutdownUnfinished", "_x20 1x40"), 22 * time.Minute, []string{`{reason="ShutdownUnfinished"}`}},
		"a further one":                    {shutdowns("ShutdownUnfinished", "3x20 4x40"), 25 * time.Minute, []string{`{reason="ShutdownUnfinished"}`}},
		"not for ever":                     {shutdowns("ShutdownUnfinished", "_x20 1x60"), 45 * time.Minute, nil},
		"not a node that was drained":      {shutdowns("ShutdownFinished", "0+1x40"), 22 * time.Minute, nil},
		"not a process that is only there": {shutdowns("ShutdownUnfinished", "3x60"), 40 * time.Minute, nil},
	},
	"SlipwayShutdownDelayShort": {
		"logind's own default":  {delay("5x40"), 17 * time.Minute, []string{`{}`}},
		"not yet":               {delay("5x40"), 14 * time.Minute, nil},
		"not when it is mended": {delay("5x10 300x40"), 17 * time.Minute, nil},
		"not what is enough":    {delay("60x40"), 30 * time.Minute, nil},
	},
	"SlipwayEvictionsLeft": {
		"the first time": {"slipway_evictions_left_to_kubernetes_total _x20 1x40", 22 * time.Minute, []string{`{}`}},
		"again":          {"slipway_evictions_left_to_kubernetes_total 1x20 2x40", 25 * time.Minute, []string{`{}`}},
		"not for ever":   {"slipway_evictions_left_to_kubernetes_total _x20 1x60", 45 * time.Minute, nil},
	},
	"SlipwayControllerMissing": {
		"nobody is there":       {`up 1x40`, 10 * time.Minute, []string{`{}`}},
		"two that stand by":     {leading("0x40", "0x40"), 10 * time.Minute, []string{`{}`}},
		"not where one leads":   {leading("1x40", "0x40"), 10 * time.Minute, nil},
		"not at a change":       {leading("1x10 stale", "0x13 1x40"), 14 * time.Minute, nil},
		"not before 5 min":      {leading("1x10 stale", "0x40"), 15 * time.Minute, nil},
		"when that is too long": {leading("1x10 stale", "0x40"), 17 * time.Minute, []string{`{}`}},
	},
	"SlipwayNotReady": {
		"some that cannot work":   {ready("0x40"), 17 * time.Minute, []string{`{check="api-server"}`}},
		"not yet":                 {ready("0x40"), 14 * time.Minute, nil},
		"not a restart":           {ready("0x10 1x40"), 17 * time.Minute, nil},
		"not for their liveness":  {`slipway_health_check{probe="liveness", check="loop"} 0x40`, 30 * time.Minute, nil},
		"not those that are well": {ready("1x40"), 30 * time.Minute, nil},
	},
}

// blocked is node a, held up from its fifth minute on.
func blocked(reason string) string {
	return fmt.Sprintf(`slipway_node_blocked_timestamp_seconds{node="a", reason=%q} 300x60`, reason)
}

func timed(claimed, deadline int) string {
	return fmt.Sprintf("slipway_node_claimed_timestamp_seconds{node=\"a\"} %dx60\nslipway_node_deadline_timestamp_seconds{node=\"a\"} %dx60", claimed, deadline)
}

func stalled(reason string) string {
	return fmt.Sprintf(`slipway_node_stalled{node="a", reason=%q} 1x40`, reason)
}

func heldUntil(values string) string {
	return `slipway_node_held_until_timestamp_seconds{node="a"} ` + values
}

func standing(reason, values string) string {
	return fmt.Sprintf(`slipway_maintenance_standing{maintenance="m", reason=%q} %s`, reason, values)
}

func stuck(values string) string {
	return fmt.Sprintf(`slipway_maintenance_stuck_timestamp_seconds{maintenance="m"} %s`, values)
}

func inState(state, values string) string {
	return fmt.Sprintf(`slipway_maintenance_nodes{maintenance="m", state=%q} %s`, state, values)
}

func pending(reason string) string {
	return fmt.Sprintf(`slipway_lifecycle_events_pending{reason=%q} 2x60`, reason)
}

func calls(code, values string) string {
	return fmt.Sprintf(`slipway_driver_calls_total{driver="d", method="StartLifecycleTransition", code=%q} %s`, code, values)
}

func finished(phase, reason, values string) string {
	return fmt.Sprintf(`slipway_lifecycle_events_finished_total{transition="t", phase=%q, reason=%q} %s`, phase, reason, values)
}

func shutdowns(reason, values string) string {
	return fmt.Sprintf(`slipway_shutdowns_total{reason=%q} %s`, reason, values)
}

func delay(values string) string {
	return `slipway_host_delay_seconds{pod="a"} ` + values
}

func leading(one, other string) string {
	return fmt.Sprintf("slipway_controller_leading{pod=\"a\"} %s\nslipway_controller_leading{pod=\"b\"} %s", one, other)
}

func ready(values string) string {
	return fmt.Sprintf(`slipway_health_check{pod="a", probe="readiness", check="api-server"} %s`, values)
}

func TestEachAlertFiresWhenItShouldAndNotElse(t *testing.T) {
	rules := alerts(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(rules)), slices.Sorted(maps.Keys(situations))); diff != "" {
		t.Fatalf("(-alerts +tested):\n%s", diff)
	}
	for name, cases := range situations {
		for when, s := range cases {
			t.Run(name+"/"+when, func(t *testing.T) {
				got := firing(t, rules[name], s)
				if diff := cmp.Diff(s.want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// firing are the labels of what the rule has given without a break for as long as it says.
func firing(t *testing.T, rule rulefmt.Rule, s situation) []string {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 1m\n"+indented(s.series))
	defer storage.Close()
	engine := promqltest.NewTestEngine(t, false, 0, 10000)
	var held map[string]bool
	for ago := time.Duration(0); ago <= time.Duration(rule.For); ago += evaluated {
		query, err := engine.NewInstantQuery(t.Context(), storage, nil, rule.Expr, time.Unix(0, 0).Add(s.at-ago))
		if err != nil {
			t.Fatal(err)
		}
		vector, err := query.Exec(t.Context()).Vector()
		if err != nil {
			t.Fatal(err)
		}
		now := map[string]bool{}
		for _, sample := range vector {
			if l := named(sample); held == nil || held[l] {
				now[l] = true
			}
		}
		held = now
		query.Close()
	}
	return slices.Sorted(maps.Keys(held))
}

func named(s promql.Sample) string {
	return s.Metric.MatchLabels(false, model.MetricNameLabel).String()
}

func indented(lines string) (text string) {
	for line := range strings.SplitSeq(lines, "\n") {
		text += "  " + line + "\n"
	}
	return text
}
