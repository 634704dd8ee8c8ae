// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"os"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/test/harness"
)

// pair is a node on which two actors meet.
type pair struct {
	*scene
	node string
	// as are the clients of users.
	as map[string]client.Client
}

// TestWhoWaitsForWhom plays the pairs of the table in docs/holds.md on a cluster, each on a node of its own. Shutdowns are in
// test/shutdown.
func TestWhoWaitsForWhom(t *testing.T) {
	t.Parallel()
	env := harness.Own(t, options)
	env.WithoutAgents(t)
	env.Guards(t)
	// An event that fails stays until the test has seen it.
	p := start(t, env, "", "--finished-event-ttl=1h")
	as := map[string]client.Client{}
	for _, user := range []string{"alice", "bob"} {
		config := rest.CopyConfig(env.Admin)
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:masters"}}
		c, err := client.New(config, client.Options{Scheme: env.Client.Scheme()})
		if err != nil {
			t.Fatal(err)
		}
		as[user] = c
	}
	first := map[string]func(pair){
		"nothing": func(pair) {},
		"a drain that has ended": func(p pair) {
			p.env.AwaitEvent(p.t, p.request("alice", "first", harness.Drain), "has ended", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
				return e.Status.ClaimStatus.Terminal()
			})
		},
		"a drain in progress": func(p pair) {
			p.held(p.node)
			p.isClaimed(p.request("alice", "first", harness.Drain))
		},
		"a maintenance, with work by hand or a Job": func(p pair) {
			p.maintainAs("first", somebody).AwaitNode(p.node, slipwayv1alpha1.NodeWorking, slipwayv1alpha1.ReasonWaitingForWork)
		},
		"a cordon of another party": func(p pair) { p.env.Kubectl(p.t, "cordon", p.node) },
		"the claim of a third-party controller": func(p pair) {
			name := p.request("alice", "first", "firmware.example.com")
			p.holds(name)
			claim := client.RawPatch(types.MergePatchType, []byte(`{"status":{"claimStatus":"Claimed","claimedBy":{"kind":"ExampleOperator","identity":"firmware"}}}`))
			p.must(p.env.Client.Status().Patch(p.t.Context(), &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: name}}, claim))
		},
	}
	second := map[string]func(pair) string{
		"its user drains":         func(p pair) string { return p.fate(p.request("alice", "second", harness.Drain)) },
		"another user drains":     func(p pair) string { return p.fate(p.request("bob", "second", harness.Drain)) },
		"a maintenance begins":    func(p pair) string { return p.fateOf(p.maintainAs("second", nobody)) },
		"its user returns it":     func(p pair) string { return p.fate(p.request("alice", "second", harness.Return)) },
		"another user returns it": func(p pair) string { return p.fate(p.request("bob", "second", harness.Return)) },
	}
	played := 0
	t.Run("pairs", func(t *testing.T) {
		for _, cell := range table(t) {
			before, then := first[cell.first], second[cell.second]
			if before == nil || then == nil {
				continue
			}
			played++
			t.Run(cell.first+", and "+cell.second, func(t *testing.T) {
				t.Parallel()
				c := (&stage{env: env}).scene(t, 1)
				p := pair{c, c.nodes[0], as}
				before(p)
				if got := then(p); got != cell.want {
					t.Errorf("it %s, and docs/holds.md says that it %s", got, cell.want)
				}
			})
		}
	})
	if played != len(first)*len(second) {
		t.Errorf("docs/holds.md has %d of %d pairs", played, len(first)*len(second))
	}
	p.Stop()
}

// request creates an event of a user, and returns its name.
func (p pair) request(user, what, transition string) string {
	p.t.Helper()
	e := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: what + "-" + p.node}}
	e.Spec = lifecyclev1alpha1.LifecycleEventSpec{TransitionName: transition, BindingNode: p.node}
	p.must(p.as[user].Create(p.t.Context(), e))
	return e.Name
}

func (p pair) isClaimed(event string) {
	p.t.Helper()
	p.env.AwaitEvent(p.t, event, "is claimed", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus == lifecyclev1alpha1.Claimed
	})
}

// holds waits until an event has its hold.
func (p pair) holds(event string) {
	p.t.Helper()
	harness.Await(p.t, p.env, "the hold of "+event, &slipwayv1alpha1.NodeHoldList{}, func(h *slipwayv1alpha1.NodeHold) bool { return h.Spec.EventName == event })
}

// fate is the result of an event, in the words of the page.
func (p pair) fate(event string) string {
	p.t.Helper()
	e := p.env.AwaitEvent(p.t, event, "passes, waits or fails", func(e *lifecyclev1alpha1.LifecycleEvent) bool {
		return e.Status.ClaimStatus.Terminal() || len(e.Spec.Gates) == 0 ||
			harness.Condition(e, lifecyclev1alpha1.ConditionGuardsPassed).Status == metav1.ConditionFalse
	})
	switch {
	case e.Status.ClaimStatus == lifecyclev1alpha1.Failed:
		return "fails, `" + harness.Finished(e).Reason + "`"
	case len(e.Spec.Gates) > 0:
		return "waits, `" + harness.Condition(e, lifecyclev1alpha1.ConditionGuardsPassed).Reason + "`"
	case e.Spec.TransitionName == harness.Return:
		return "passes"
	default:
		p.holds(event)
		return "passes, and holds it"
	}
}

// fateOf is the result of a maintenance of the node, in the words of the page.
func (p pair) fateOf(m *Maintenance) string {
	p.t.Helper()
	reason, holds := "", false
	m.Await("holds its node, or waits for it", func(o *slipwayv1alpha1.NodeMaintenance) bool {
		for _, n := range o.Status.NodeStatuses {
			if n.Phase == slipwayv1alpha1.NodeHeld && n.Reason != slipwayv1alpha1.ReasonGated {
				reason = n.Reason
			}
		}
		holds = o.Status.Nodes.Drained+o.Status.Nodes.Returned > 0
		return reason != "" || holds
	})
	if reason != "" {
		return "waits, `" + reason + "`"
	}
	return "passes, and holds it"
}

// cell is a pair of the page.
type cell struct{ first, second, want string }

// table returns the pairs of docs/holds.md.
func table(t *testing.T) (cells []cell) {
	t.Helper()
	page, err := os.ReadFile(harness.File(t, "docs", "holds.md"))
	if err != nil {
		t.Fatal(err)
	}
	var heads []string
	for line := range strings.Lines(string(page)) {
		row := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		switch {
		case row[0] == "first, on the node":
			heads = row
		case len(heads) > 0 && len(row) == len(heads):
			for i, want := range row[1:] {
				cells = append(cells, cell{row[0], heads[i+1], want})
			}
		}
	}
	return cells
}
