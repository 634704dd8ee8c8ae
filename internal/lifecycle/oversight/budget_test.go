// SPDX-License-Identifier: Apache-2.0

package oversight

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/lifecycleevent"
	"github.com/slipway-k8s/slipway/internal/node/availability"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

func scanBudget(t *testing.T, d *datadriven.TestData) *availability.Budget {
	t.Helper()
	b := &availability.Budget{ObjectMeta: metav1.ObjectMeta{Name: first(d)}}
	for _, arg := range d.CmdArgs[1:] {
		switch arg.Key {
		case "max":
			b.Spec.MaxUnavailable = new(intstr.Parse(arg.Vals[0]))
		case "min":
			b.Spec.MinAvailable = new(intstr.Parse(arg.Vals[0]))
		case "key":
			b.Spec.TopologyKey = arg.Vals[0]
		default:
			t.Fatalf("unknown argument %s", arg.Key)
		}
	}
	return b
}

// TestNoInterleavingExceedsABudget plays 10,000 random interleavings: users and failures, and two leaders, of which each
// decides on old facts, confirms on new ones, and is delayed or restarted between any two of its steps. Slipway never takes out
// more nodes than two overlapping budgets allow, an event that waits names a budget, and when nodes return, another event
// passes.
func TestNoInterleavingExceedsABudget(t *testing.T) {
	t.Parallel()
	interleavings := 10_000
	if testing.Short() {
		interleavings = 1_000
	}
	waited := 0
	for seed := range interleavings {
		g := newBudgetGame(uint64(seed))
		for range 60 {
			g.disturb()
			if err := g.exceeded(); err != "" {
				t.Fatalf("seed %d: %s", seed, err)
			}
		}
		waited += g.waits
		if err := g.settles(); err != "" {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
	if waited < interleavings/4 {
		t.Errorf("in %d interleavings, events waited only %d times", interleavings, waited)
	}
}

// budgetGame is a world with two leaders.
type budgetGame struct {
	*world
	random  *rand.Rand
	leaders [2]struct {
		seen *world // its cache
		step Step   // confirmed, and not yet performed
		node string
	}
	waits int
	// failed are nodes that are not Ready; free are events that passed while their node was not.
	failed, free map[string]bool
}

func newBudgetGame(seed uint64) *budgetGame {
	g := &budgetGame{world: newWorld(), random: rand.New(rand.NewPCG(seed, seed)), failed: map[string]bool{}, free: map[string]bool{}}
	for i := range 5 {
		name := fmt.Sprintf("n%d", i)
		g.nodes[name] = &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"zone": string(rune('a' + i%2))}},
			Status:     corev1.NodeStatus{Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
		}
	}
	g.budgets = []*availability.Budget{
		{ObjectMeta: metav1.ObjectMeta{Name: "all"}, Spec: budgetOf(2, "")},
		{ObjectMeta: metav1.ObjectMeta{Name: "zones"}, Spec: budgetOf(1, "zone")},
	}
	for i := range g.leaders {
		g.leaders[i].seen = g.snapshot()
	}
	return g
}

func budgetOf(most int32, key string) (spec slipwayv1alpha1.NodeAvailabilityBudgetSpec) {
	spec.MaxUnavailable, spec.TopologyKey = new(intstr.FromInt32(most)), key
	return spec
}

// snapshot is the world as a cache shows it. Objects are never changed in place.
func (g *budgetGame) snapshot() *world {
	seen := *g.world
	seen.nodes, seen.events, seen.cordons = maps.Clone(g.nodes), maps.Clone(g.events), maps.Clone(g.cordons)
	seen.holds = slices.Clone(g.holds)
	seen.lost = map[string]Sighting{}
	return &seen
}

func (g *budgetGame) disturb() {
	node := fmt.Sprintf("n%d", g.random.IntN(len(g.nodes)))
	leader := &g.leaders[g.random.IntN(2)]
	switch g.random.IntN(12) {
	case 0, 1:
		g.request(node)
	case 2: // its agent drains it, and the event ends; its hold stays
		for _, e := range g.events {
			if e.Spec.BindingNode == node && len(e.Spec.Gates) == 0 {
				g.cordon(node, true)
			}
		}
	case 3:
		g.giveBack(node)
	case 4: // it fails, or works again
		g.failed[node] = !g.failed[node]
		g.ready(node, !g.failed[node])
	case 5: // a restart
		leader.step = nil
		leader.seen = g.snapshot()
	case 6, 7:
		leader.seen = g.snapshot()
	case 8, 9:
		if leader.step == nil {
			leader.step, leader.node = g.decide(leader.seen, node), node
		}
	default:
		if leader.step != nil {
			g.write(leader.node, leader.step)
			leader.step = nil
		}
	}
}

// decide is a pass of a leader: it decides by its cache, and confirms on the state of the API server.
func (g *budgetGame) decide(seen *world, node string) Step {
	step := Next(seen.facts(node), g.now).Step
	if _, irrevocable := step.(RemoveGate); !irrevocable {
		return step
	}
	live := g.facts(node)
	live.Fleet.Nodes = seen.fleetWithHolds(g.world)
	fresh, ok := Next(live, g.now).Step.(RemoveGate)
	if !ok {
		return nil
	}
	g.free[fresh.Event.Name] = g.failed[node]
	return fresh
}

// fleetWithHolds has the Nodes of a cache, and the holds of the API server.
func (w *world) fleetWithHolds(live *world) []availability.Node {
	mixed := *w
	mixed.holds = live.holds
	return mixed.fleet().Nodes
}

// write performs a step, unless the event has changed since it was decided.
func (g *budgetGame) write(node string, step Step) {
	if e := touched(step); e != nil {
		if now := g.events[e.Name]; now == nil || now.ResourceVersion != e.ResourceVersion {
			return
		}
	}
	if s, ok := step.(WriteStatus); ok {
		c := lifecycleevent.Condition(&lifecyclev1alpha1.LifecycleEvent{Status: s.Status}, lifecyclev1alpha1.ConditionGuardsPassed)
		if c != nil && c.Reason == lifecyclev1alpha1.ReasonNodeAvailabilityBudget {
			g.waits++
		}
	}
	g.perform(node, step)
	if e := touched(step); e != nil && g.events[e.Name] != nil {
		g.serial++
		version := fmt.Sprint(g.serial)
		g.change(e, func(e *lifecyclev1alpha1.LifecycleEvent) { e.ResourceVersion = version })
	}
}

func (g *budgetGame) request(node string) {
	g.serial++
	name := fmt.Sprintf("e%d", g.serial)
	g.history[types.UID(name)] = []lifecyclev1alpha1.ClaimStatus{""}
	g.events[name] = &lifecyclev1alpha1.LifecycleEvent{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: fmt.Sprint(g.serial), CreationTimestamp: metav1.NewTime(g.now.Add(time.Duration(g.serial)))},
		Spec: lifecyclev1alpha1.LifecycleEventSpec{
			TransitionName: "drain", BindingNode: node, RequestedBy: "u", Gates: []lifecyclev1alpha1.Gate{{Name: lifecyclev1alpha1.GateGuards}},
			Allow: []lifecyclev1alpha1.Guard{lifecyclev1alpha1.GuardLastSchedulableNode},
		},
	}
}

// giveBack returns a node with all that is known of it. That its events end and its holds go is not part of this game.
func (g *budgetGame) giveBack(node string) {
	for name, e := range g.events {
		if e.Spec.BindingNode == node && len(e.Spec.Gates) == 0 {
			delete(g.events, name)
		}
	}
	g.holds = slices.DeleteFunc(slices.Clone(g.holds), func(h *hold.Hold) bool { return h.Spec.NodeName == node })
	g.cordon(node, false)
}

func (g *budgetGame) cordon(node string, on bool) {
	n := g.nodes[node].DeepCopy()
	n.Spec.Unschedulable = on
	g.nodes[node] = n
}

func (g *budgetGame) ready(node string, is bool) {
	n := g.nodes[node].DeepCopy()
	n.Status.Conditions[0].Status = corev1.ConditionTrue
	if !is {
		n.Status.Conditions[0].Status = corev1.ConditionFalse
		n.Status.Conditions[0].LastTransitionTime = metav1.NewTime(g.now.Add(time.Hour))
	}
	g.nodes[node] = n
}

// exceeded names a budget of which Slipway has more nodes out than it allows.
func (g *budgetGame) exceeded() string {
	out := map[string]bool{}
	for _, e := range g.events {
		if len(e.Spec.Gates) == 0 && !g.free[e.Name] {
			out[e.Spec.BindingNode] = true
		}
	}
	zones, all := map[string]int{}, 0
	for node := range out {
		zones[g.nodes[node].Labels["zone"]]++
		all++
	}
	if all > 2 || zones["a"] > 1 || zones["b"] > 1 {
		return fmt.Sprintf("out are %v", out)
	}
	return ""
}

// settles has one leader that sees everything, and nodes that are drained and return, until no event is left. It names the
// events that never pass.
func (g *budgetGame) settles() string {
	for _, node := range g.bound() {
		g.failed[node] = false
		g.ready(node, true)
	}
	for range 200 {
		if len(g.events) == 0 {
			return ""
		}
		for _, node := range g.bound() {
			if step := Next(g.facts(node), g.now).Step; step != nil {
				g.write(node, step)
			}
			if err := g.exceeded(); err != "" {
				return err
			}
		}
		for _, e := range g.events {
			if len(e.Spec.Gates) == 0 && holdOf(g.facts(e.Spec.BindingNode), e) != nil {
				g.giveBack(e.Spec.BindingNode)
				break
			}
		}
	}
	return fmt.Sprintf("%d events never pass", len(g.events))
}
