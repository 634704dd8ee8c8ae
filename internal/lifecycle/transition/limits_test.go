// SPDX-License-Identifier: Apache-2.0

package transition

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

func TestWhatADriverSaysIsInTheStatus(t *testing.T) {
	now := time.Unix(100, 0)
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
	blockers := []lifecyclev1alpha1.Blocker{{
		Object: "Pod shop/cart-0", Reason: "BudgetRefuses", By: "PodDisruptionBudget shop/cart", Message: "m", Since: &metav1.Time{Time: now},
	}}
	var got lifecyclev1alpha1.LifecycleEventStatus
	fold(&got, e, Answer{
		Generation: 2,
		Progress:   &lifecyclev1alpha1.Progress{Total: 7, Done: 3},
		Blockers:   blockers, BlockersTotal: 30,
		EventConditions: []Condition{{"T", "True", "R", "m"}},
	}, now)
	want := lifecyclev1alpha1.LifecycleEventStatus{
		Progress: &lifecyclev1alpha1.Progress{Total: 7, Done: 3, Summary: "3/7"},
		Blockers: blockers, BlockersTotal: 30,
		ObservedGeneration: 2,
		Conditions: []metav1.Condition{{
			Type: "T", Status: "True", Reason: "R", Message: "m", ObservedGeneration: 2, LastTransitionTime: metav1.NewTime(now),
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	fold(&got, e, Answer{Generation: 3}, now)
	if got.Blockers != nil || got.BlockersTotal != 0 || got.Progress == nil {
		t.Errorf("nothing blocks any more, and of progress nothing is said: got %+v", got)
	}
}

func TestBlockersAreCutToWhatTheServerTakes(t *testing.T) {
	long := strings.Repeat("x", 2000)
	var said []lifecyclev1alpha1.Blocker
	for range 21 {
		said = append(said, lifecyclev1alpha1.Blocker{Object: long, By: long, Reason: long, Message: long})
	}
	for n, want := range map[int]int{0: 0, 1: 1, 20: 20, 21: 20} {
		got := boundedBlockers(said[:n])
		if len(got) != want {
			t.Errorf("of %d, %d are kept; want %d", n, len(got), want)
		}
		for i, b := range got {
			lengths := []int{len(b.Object), len(b.By), len(b.Reason), len(b.Message)}
			if diff := cmp.Diff([]int{600, 600, 128, 1024}, lengths); diff != "" {
				t.Errorf("blocker %d: bytes of object, by, reason and message: -want +got:\n%s", i, diff)
			}
		}
	}
	var status lifecyclev1alpha1.LifecycleEventStatus
	fold(&status, &lifecyclev1alpha1.LifecycleEvent{}, Answer{Blockers: said}, time.Unix(1, 0))
	if status.BlockersTotal != 20 {
		t.Errorf("the driver does not say how many there are: blockersTotal is %d; want as many as are listed, 20", status.BlockersTotal)
	}
}

func TestConditionsOfADriverAreHeldAgainstWhatTheServerTakes(t *testing.T) {
	good := Condition{Type: "example.com/Done", Status: "True", Reason: "AllDone"}
	of := func(change func(*Condition)) Condition {
		c := good
		change(&c)
		return c
	}
	for name, tc := range map[string]struct {
		c    Condition
		want string
	}{
		"it is good":          {good, ""},
		"False is good":       {of(func(c *Condition) { c.Status = "False" }), ""},
		"Unknown is good":     {of(func(c *Condition) { c.Status = "Unknown" }), ""},
		"the longest type":    {of(func(c *Condition) { c.Type = strings.Repeat("T", 316) }), ""},
		"the longest reason":  {of(func(c *Condition) { c.Reason = strings.Repeat("R", 1024) }), ""},
		"no type":             {of(func(c *Condition) { c.Type = "" }), `type "", which is not a condition type`},
		"a type with a space": {of(func(c *Condition) { c.Type = "All Done" }), `type "All Done", which is not a condition type`},
		"a type that is too long": {
			of(func(c *Condition) { c.Type = strings.Repeat("T", 317) }),
			fmt.Sprintf("type %q, which is not a condition type", strings.Repeat("T", 317)),
		},
		"a type of ours":      {of(func(c *Condition) { c.Type = "Ready" }), `type "Ready", which is not the driver's to set`},
		"a status of its own": {of(func(c *Condition) { c.Status = "true" }), `status "true"; want "True", "False" or "Unknown"`},
		"no status":           {of(func(c *Condition) { c.Status = "" }), `status ""; want "True", "False" or "Unknown"`},
		"no reason":           {of(func(c *Condition) { c.Reason = "" }), `reason "", which is not a CamelCase code`},
		"a reason that is a sentence": {
			of(func(c *Condition) { c.Reason = "all done" }), `reason "all done", which is not a CamelCase code`,
		},
		"a reason that is too long": {
			of(func(c *Condition) { c.Reason = strings.Repeat("R", 1025) }),
			fmt.Sprintf("reason %q, which is not a CamelCase code", strings.Repeat("R", 1025)),
		},
	} {
		if got := checkCondition(tc.c, []string{"Ready"}); got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
}

func TestWhichOfTheConditionsIsBadIsSaid(t *testing.T) {
	a, b, bad := Condition{"A", "True", "R", ""}, Condition{"B", "True", "R", ""}, Condition{"C", "Yes", "R", ""}
	for name, tc := range map[string]struct {
		answer Answer
		want   string
	}{
		"all are good":                      {Answer{EventConditions: []Condition{a, b}, NodeConditions: []Condition{a, b}}, ""},
		"the second one of the event":       {Answer{EventConditions: []Condition{a, bad}}, `event_conditions[1].status "Yes"; want "True", "False" or "Unknown"`},
		"the first one of the node":         {Answer{EventConditions: []Condition{a}, NodeConditions: []Condition{bad}}, `node_conditions[0].status "Yes"; want "True", "False" or "Unknown"`},
		"one is there twice":                {Answer{EventConditions: []Condition{a, b, a}}, `event_conditions[2].type "A", which occurs twice`},
		"the event's own":                   {Answer{EventConditions: []Condition{{"Finished", "True", "R", ""}}}, `event_conditions[0].type "Finished", which is not the driver's to set`},
		"what is the node's may be of both": {Answer{EventConditions: []Condition{{"Ready", "True", "R", ""}}, NodeConditions: []Condition{{"Finished", "True", "R", ""}}}, ""},
	} {
		if got := checkConditions(tc.answer); got != tc.want {
			t.Errorf("%s: got %q; want %q", name, got, tc.want)
		}
	}
}

func TestCallsAreRepeatedEverMoreSlowly(t *testing.T) {
	for failures, want := range map[int]time.Duration{
		-1: 0, 0: 0, 1: 500 * time.Millisecond, 2: time.Second, 3: 2 * time.Second, 4: 4 * time.Second, 5: 8 * time.Second,
		6: 10 * time.Second, 7: 10 * time.Second, 1000: 10 * time.Second,
	} {
		if got := retryDelay(failures); got != want {
			t.Errorf("after %d failures: %s; want %s", failures, got, want)
		}
	}
}
