// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// debate is an agent and the controller, who both write condition Claimable of one event.
type debate struct {
	*world
	seen   *lifecyclev1alpha1.LifecycleEvent // what the controller's cache shows
	says   string                            // what the agent wants to be said
	skew   time.Duration                     // of the node's clock
	dead   bool                              // the agent writes nothing
	writes int
}

func newDebate(skew time.Duration) *debate {
	d := &debate{world: newWorld(), says: lifecyclev1alpha1.ReasonGated, skew: skew}
	d.addNode("a", nil)
	d.seen = d.addEvent("e", "a", "drain")
	return d
}

// agent writes what it wants to be said, if something else stands there.
func (d *debate) agent() {
	e := d.events["e"]
	if d.dead || reasonOf(e, lifecyclev1alpha1.ConditionClaimable) == d.says {
		return
	}
	d.apply("a", noteClaimable(e, d.says, "", d.now.Add(d.skew)).Step)
	d.writes++
}

// controller does a pass, on what its cache shows. What it writes is refused if that is
// behind.
func (d *debate) controller() {
	live := d.events["e"]
	d.events["e"] = d.seen
	f := d.facts("a")
	d.events["e"] = live
	step := Next(f, d.now).Step
	if step == nil || d.seen != live {
		return
	}
	d.perform("a", step)
	d.writes++
}

// disturb does what makes both have something new to say.
func (d *debate) disturb(t *rapid.T) {
	switch rapid.IntRange(0, 4).Draw(t, "disturbance") {
	case 0:
		d.says = rapid.SampledFrom([]string{
			lifecyclev1alpha1.ReasonGated, lifecyclev1alpha1.ReasonWaitingForTurn, lifecyclev1alpha1.ReasonDriverMissing,
		}).Draw(t, "says")
	case 1:
		d.setAgent("a", rapid.Bool().Draw(t, "there"), rapid.Bool().Draw(t, "ready"))
	case 2:
		d.setNodeReady("a", rapid.Bool().Draw(t, "node ready"))
	case 3:
		d.crash()
	case 4:
		d.dead = rapid.Bool().Draw(t, "dead")
	}
}

// TestAnAgentAndTheControllerDoNotArgue: in whatever order the two write, however late
// caches are and however wrong the node's clock is, what happens makes them write a few
// times, and not more with the time.
func TestAnAgentAndTheControllerDoNotArgue(t *testing.T) {
	const most = 4 // the controller at once and after 40 s, the agent after each
	rapid.Check(t, func(t *rapid.T) {
		d := newDebate(time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "skew")))
		for range rapid.IntRange(1, 10).Draw(t, "disturbances") {
			d.disturb(t)
			d.writes = 0
			for range rapid.IntRange(0, 100).Draw(t, "length") {
				d.goOn(t)
			}
			if d.writes > most {
				t.Fatalf("%d writes; want at most %d", d.writes, most)
			}
		}
	})
}

// goOn lets somebody do something, or the time pass.
func (d *debate) goOn(t *rapid.T) {
	switch rapid.SampledFrom([]string{"agent", "controller", "cache", "clock"}).Draw(t, "who") {
	case "agent":
		d.agent()
	case "controller":
		d.controller()
	case "cache":
		d.seen = d.events["e"]
	case "clock":
		d.now = d.now.Add(time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "clock")))
	}
}

// The one who is there has the last word.
func TestWhatIsSaidInTheEndIsTrue(t *testing.T) {
	for name, tc := range map[string]struct {
		pod, dead bool
		want      string
	}{
		"an agent that is seen":                   {pod: true, want: lifecyclev1alpha1.ReasonGated},
		"an agent whose pod is not where we look": {want: lifecyclev1alpha1.ReasonGated},
		"no agent": {dead: true, want: lifecyclev1alpha1.ReasonAgentMissing},
		"an agent that hangs: what it has said last": {pod: true, dead: true, want: lifecyclev1alpha1.ReasonGated},
	} {
		for _, skew := range []time.Duration{-time.Hour, 0, time.Hour} {
			t.Run(fmt.Sprintf("%s, its clock off by %s", name, skew), func(t *testing.T) {
				d := newDebate(skew)
				d.setAgent("a", true, true)
				d.agent()
				d.setAgent("a", tc.pod, true)
				d.dead = tc.dead
				for range 20 {
					d.seen = d.events["e"]
					d.controller()
					d.agent()
					d.now = d.now.Add(10 * time.Second)
				}
				if got := reasonOf(d.events["e"], lifecyclev1alpha1.ConditionClaimable); got != tc.want {
					t.Errorf("in the end %q is said; want %q", got, tc.want)
				}
			})
		}
	}
}
