// SPDX-License-Identifier: Apache-2.0

package drainplan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
)

func TestNothingCoversNoPod(t *testing.T) {
	for _, target := range NoPods() {
		selector, err := metav1.LabelSelectorAsSelector(target.PodSelector)
		if err != nil {
			t.Fatal(err)
		}
		for _, pod := range []labels.Set{nil, {"app": "x"}, {nowhere: ""}, {nowhere: "true"}} {
			if selector.Matches(pod) {
				t.Errorf("it covers pods with labels %v", pod)
			}
		}
	}
}

func TestDrained(t *testing.T) {
	tests := map[string]struct {
		plan, targets string
		reached, want bool
	}{
		"all steps are over":                            {plan: "1000 Default\n2000 Default", targets: "2000 Default", reached: true, want: true},
		"the last step goes on":                         {plan: "1000 Default\n2000 Default", targets: "2000 Default"},
		"an earlier step is over":                       {plan: "1000 Default\n2000 Default", targets: "1000 Default", reached: true},
		"the node goes on for somebody else":            {plan: "max Default", targets: "max Default\n1000 DaemonSet", want: true},
		"it goes on, and does not cover what plan says": {plan: "max Default", targets: "1000 DaemonSet", reached: true},
		"a selector is covered by a target without one": {plan: "1000 Default app=x", targets: "1000 Default", reached: true, want: true},
		"a selector covers not what it does not select": {plan: "1000 Default", targets: "1000 Default app=x", reached: true},
		"a selector that asks for less covers":          {plan: "1000 Default app=x,tier=y", targets: "1000 Default app=x", reached: true, want: true},
		"it is only cordoned":                           {plan: "1000 Default", reached: true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			n := Node{Targets: mustRead(t, tc.targets), Reached: tc.reached}
			if got := Drained(mustRead(t, tc.plan), n); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestExceeds(t *testing.T) {
	tests := map[string]struct {
		plan, targets string
		want          bool
	}{
		"the targets go further than the first step": {plan: "1000 Default\n5000 Default", targets: "2000 Default", want: true},
		"they go as far":                          {plan: "2000 Default", targets: "2000 Default"},
		"they go less far":                        {plan: "2000 Default", targets: "1000 Default"},
		"the first step is for pods with a label": {plan: "2000 Default app=x\n2000 Default", targets: "2000 Default", want: true},
		"there are none":                          {plan: "-5 Default"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			if got := Exceeds(mustRead(t, tc.targets), mustRead(t, tc.plan)); got != tc.want {
				t.Errorf("got %v", got)
			}
		})
	}
	if Exceeds(NoPods(), Complete(nil)) {
		t.Error("a node that is only cordoned exceeds a plan")
	}
}

func mustRead(t *testing.T, text string) []slipwayv1alpha1.DrainTarget {
	t.Helper()
	targets, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	return targets
}

func TestMessagesHaveAnEnd(t *testing.T) {
	few, many := sets.New("b", "a"), sets.New[string]()
	for i := range 100 {
		many.Insert(fmt.Sprintf("maintenance-of-the-nodes-of-rack-%02d", i))
	}
	if diff := cmp.Diff("Waiting for a, b.", waiting(few)); diff != "" {
		t.Error(diff)
	}
	if got := draining(many); len(got) > 1000 {
		t.Errorf("%d characters: %s", len(got), got)
	}
	if got, want := waiting(many)[:80], "Waiting for maintenance-of-the-nodes-of-rack-00, maintenance-of-the-nodes-of-rac"; got != want {
		t.Errorf("got %s", got)
	}
}

// FuzzPlan wants that entries complete to a plan that covers them and completes to itself.
func FuzzPlan(f *testing.F) {
	f.Add("1000 Default\n2000 DaemonSet app=x")
	f.Add("max Static\nany Default a in (b,c),!d")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := read(text)
		if err != nil {
			return
		}
		plan := Complete(entries)
		if diff := cmp.Diff(plan, Complete(plan)); diff != "" {
			t.Error(diff)
		}
		for _, e := range entries {
			if !cover(entriesOf(plan), entriesOf([]slipwayv1alpha1.DrainTarget{e})) {
				t.Errorf("%s is not covered", show(e))
			}
		}
	})
}
