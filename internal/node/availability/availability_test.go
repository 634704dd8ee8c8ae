// SPDX-License-Identifier: Apache-2.0

package availability

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/node/hold"
)

func TestWhyANodeCountsAsOut(t *testing.T) {
	created := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	condition := func(status corev1.ConditionStatus, since time.Duration) func(*corev1.Node) {
		return func(n *corev1.Node) {
			n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: status, LastTransitionTime: metav1.NewTime(created.Add(since))}}
		}
	}
	ready := condition(corev1.ConditionTrue, time.Second)
	for name, tc := range map[string]struct {
		change []func(*corev1.Node)
		holds  []*hold.Hold
		want   Node
	}{
		"in service":          {[]func(*corev1.Node){ready}, nil, Node{}},
		"held":                {[]func(*corev1.Node){ready}, []*hold.Hold{{Spec: slipwayv1alpha1.NodeHoldSpec{User: "ada"}}}, Node{Out: `held by user "ada"`}},
		"cordoned":            {[]func(*corev1.Node){ready, func(n *corev1.Node) { n.Spec.Unschedulable = true }}, nil, Node{Out: "cordoned"}},
		"no longer Ready":     {[]func(*corev1.Node){condition(corev1.ConditionUnknown, time.Hour)}, nil, Node{Out: "not Ready"}},
		"never Ready":         {[]func(*corev1.Node){condition(corev1.ConditionFalse, time.Second)}, nil, Node{Out: "not Ready", Uncounted: true}},
		"without a condition": {nil, nil, Node{Out: "not Ready", Uncounted: true}},
		"being deleted":       {[]func(*corev1.Node){ready, func(n *corev1.Node) { n.DeletionTimestamp = &metav1.Time{} }}, nil, Node{Uncounted: true}},
		"shuts down": {
			[]func(*corev1.Node){ready, func(n *corev1.Node) {
				n.Annotations = map[string]string{"slipway.dev/shutdown": `{"bootID":"1","since":"2026-01-02T03:04:05Z","until":"2026-01-02T03:05:05Z"}`}
			}},
			nil,
			Node{Out: "shuts down"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", CreationTimestamp: metav1.NewTime(created)}}
			for _, change := range tc.change {
				change(n)
			}
			tc.want.Name = "n"
			if diff := cmp.Diff(tc.want, NodeOf(n, tc.holds)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestHowManyMoreNodesABudgetAllows(t *testing.T) {
	spec := func(most, least, key string) (s slipwayv1alpha1.NodeAvailabilityBudgetSpec) {
		if most != "" {
			s.MaxUnavailable = new(intstr.Parse(most))
		}
		if least != "" {
			s.MinAvailable = new(intstr.Parse(least))
		}
		s.TopologyKey = key
		return s
	}
	for name, tc := range map[string]struct {
		spec    slipwayv1alpha1.NodeAvailabilityBudgetSpec
		nodes   string // name, zone, and whether it is out
		allowed int32
		blocks  string // what the objection to node a says
	}{
		"a number":                      {spec("2", "", ""), "a b c:out", 1, ""},
		"a number that is used up":      {spec("1", "", ""), "a b c:out", 0, `allows at most 1 of 3 nodes out of service; out of service: c (x)`},
		"a percentage, rounded up":      {spec("34%", "", ""), "a b c:out", 1, ""},
		"all stay":                      {spec("", "100%", ""), "a b", 0, `allows at most 0 of 2 nodes out of service; out of service: none`},
		"the smallest number":           {spec("", "2", ""), "a b c", 1, ""},
		"a percentage that stays":       {spec("", "50%", ""), "a b c", 1, ""},
		"more must stay than there are": {spec("", "5", ""), "a b", 0, "allows at most 0 of 2 nodes"},
		"for each zone":                 {spec("1", "", "zone"), "a/x b/x:out c/y", 1, `allows at most 1 of 2 nodes with zone=x out of service; out of service: b (x)`},
		"another zone is used up":       {spec("1", "", "zone"), "a/x b/y:out", 1, ""},
		"uncounted nodes":               {spec("1", "", ""), "a b:uncounted c", 1, ""},
		"a node that is out already":    {spec("1", "", ""), "a:out b:out c", 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := &Budget{ObjectMeta: metav1.ObjectMeta{Name: "b"}, Spec: tc.spec}
			var nodes []Node
			for text := range strings.FieldsSeq(tc.nodes) {
				text, state, _ := strings.Cut(text, ":")
				name, zone, _ := strings.Cut(text, "/")
				n := Node{Name: name, Labels: map[string]string{"zone": zone}, Uncounted: state == "uncounted"}
				if state == "out" {
					n.Out = "x"
				}
				nodes = append(nodes, n)
			}
			if got := Status(b, nodes).DisruptionsAllowed; got != tc.allowed {
				t.Errorf("it allows %d more, want %d", got, tc.allowed)
			}
			got := Objection([]*Budget{b}, nodes, "a")
			if (got == "") != (tc.blocks == "") || !strings.Contains(got, tc.blocks) {
				t.Errorf("the objection is %q, want %q", got, tc.blocks)
			}
		})
	}
}

func TestNodesThatABudgetNeverAllowsTogether(t *testing.T) {
	all, zones := &Budget{ObjectMeta: metav1.ObjectMeta{Name: "all"}}, &Budget{ObjectMeta: metav1.ObjectMeta{Name: "zones"}}
	all.Spec.MinAvailable = new(intstr.FromString("50%"))
	zones.Spec.MaxUnavailable, zones.Spec.TopologyKey = new(intstr.FromInt(1)), "zone"
	node := func(name, zone string) Node {
		return Node{Name: name, Labels: map[string]string{"zone": zone}, Out: "x"}
	}
	nodes := []Node{node("a1", "a"), node("a2", "a"), node("b1", "b"), node("b2", "b")}
	for together, want := range map[string]string{
		"":         "",
		"a1":       "",
		"a1 b1":    "",
		"a1 a2":    `NodeAvailabilityBudget "zones" allows at most 1 of 2 nodes with zone=a out of service, and 2 of them would be at the same time`,
		"a1 b1 b2": `NodeAvailabilityBudget "all" allows at most 2 of 4 nodes out of service, and 3 of them would be at the same time`,
	} {
		if got := Excess([]*Budget{zones, all}, nodes, strings.Fields(together)); got != want {
			t.Errorf("%q: got %q, want %q", together, got, want)
		}
	}
}

func TestAnInvalidSelectorHoldsBackAllEvents(t *testing.T) {
	b := &Budget{ObjectMeta: metav1.ObjectMeta{Name: "b"}}
	b.Spec.Selector.MatchLabels = map[string]string{"zone": "not a value!"}
	nodes := []Node{{Name: "a"}}
	const want = "spec.selector"
	if got := Status(b, nodes).Message; !strings.Contains(got, want) {
		t.Errorf("the status says %q", got)
	}
	if got := Objection([]*Budget{b}, nodes, "a"); !strings.Contains(got, want) {
		t.Errorf("the objection is %q", got)
	}
}
