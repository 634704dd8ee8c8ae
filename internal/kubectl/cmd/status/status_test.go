// SPDX-License-Identifier: Apache-2.0

package status

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
	"github.com/slipway-k8s/slipway/internal/node/shutdown"
)

func saysDelay(name, delay string) *corev1.Node {
	node := &corev1.Node{}
	node.Name = name
	if delay != "" {
		node.Annotations = map[string]string{shutdown.DelayAnnotation: delay}
	}
	return node
}

func TestMachinesThatHardlyWaitAreTold(t *testing.T) {
	nodes := []*corev1.Node{
		saysDelay("w2", "5s"), saysDelay("w1", "59s"), saysDelay("enough", "1m0s"), saysDelay("silent", ""), saysDelay("wrong", "soon"),
	}
	var many []*corev1.Node
	for i := range 7 {
		many = append(many, saysDelay(fmt.Sprintf("n%d", i), "5s"))
	}
	for name, tc := range map[string]struct {
		nodes []*corev1.Node
		named []string
		want  string
	}{
		"those that say so":         {nodes, nil, "  w1 (59s), w2 (5s)\n"},
		"of those that are named":   {nodes, []string{"w2", "enough"}, "  w2 (5s)\n"},
		"not all of many":           {many, nil, "  n0 (5s), n1 (5s), n2 (5s), n3 (5s), n4 (5s) and 2 more\n"},
		"none":                      {nodes[2:], nil, ""},
		"none of those named":       {nodes, []string{"enough"}, ""},
		"nodes that cannot be read": {nil, nil, ""},
	} {
		if got := shortDelays(tc.nodes, tc.named); (got == "") != (tc.want == "") || !strings.Contains(got, tc.want) {
			t.Errorf("%s: it says %q, want %q", name, got, tc.want)
		}
	}
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfStatus(t *testing.T) {
	events := []*lifecyclev1alpha1.LifecycleEvent{
		clitest.HostileDrain(t, "worker-1", clitest.HostileProgress), clitest.HostileDrain(t, "worker-2", clitest.HostileWait), clitest.HostileDrain(t, "worker-3", clitest.HostileCancel),
	}
	node := &corev1.Node{}
	node.Name, node.Spec.Unschedulable = "worker-4", true
	node.Annotations = map[string]string{"slipway.dev/cordons": `{"owners":[{"event":"drain-worker-4"}],"before":{"by":"\u001b[2Jowned"}}`}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionFalse, Reason: clitest.Hostile, Message: clitest.Hostile,
	}}
	all := overview(facts{nodes: []*corev1.Node{node}, events: events}, nil)
	for name, style := range map[string]ui.Style{"no terminal": {}, "narrow": {Terminal: true, Width: 80, Height: 24}, "wide": {Terminal: true, Width: 500, Height: 24}} {
		t.Run(name, func(t *testing.T) {
			clitest.WantHarmless(t, statusTable(all, style, clitest.Noon, true, false))
			tool, out, _ := clitest.Tool()
			w := newStatusWatch(tool, cli.Wide, nil)
			w.Trouble = clitest.Hostile
			w.Draw(style, w.picture(all, clitest.Noon))
			clitest.WantHarmless(t, out.String())
		})
	}
	t.Run("a line for each change", func(t *testing.T) {
		tool, out, errOut := clitest.Tool()
		w := newStatusWatch(tool, cli.Human, nil)
		w.Trouble = clitest.Hostile
		w.Update(w.picture(all, clitest.Noon))
		clitest.WantHarmless(t, out.String())
		clitest.WantHarmless(t, errOut.String())
	})
	t.Run("columns", func(t *testing.T) {
		clitest.WantHarmless(t, ui.Style{}.Columns([][]ui.Cell{{{Text: clitest.Hostile}, {Text: clitest.Hostile}}, {{Text: "a"}, {Text: "b"}}}))
	})
}

func readStatus(t *testing.T) ([]*corev1.Node, []*lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	return clitest.Read[corev1.Node](t, "status-nodes.yaml"), clitest.Read[lifecyclev1alpha1.LifecycleEvent](t, "status-events.yaml")
}

func TestWhatStatusShows(t *testing.T) {
	nodes, events := readStatus(t)
	all := overview(facts{nodes: nodes, events: events}, nil)
	for name, why := range map[string]bool{"status": false, "status/wide": true} {
		clitest.GoldenStyles(t, name, func(out io.Writer, style ui.Style) error {
			_, err := io.WriteString(out, statusTable(all, style, clitest.Noon, why, false))
			return err
		})
	}
	clitest.Golden(t, "status/named", statusTable(overview(facts{nodes: nodes, events: events}, []string{"worker-1", "worker-9"}), ui.Style{}, clitest.Noon, false, false))
}

func TestWhatStatusPrintsForPrograms(t *testing.T) {
	nodes, events := readStatus(t)
	all := overview(facts{nodes: nodes, events: events}, nil)
	for f, none := range map[cli.Format]string{cli.Name: "", cli.JSON: "{\n    \"apiVersion\": \"v1\",\n    \"kind\": \"List\",\n    \"items\": []\n}\n", cli.YAML: "apiVersion: v1\nitems: []\nkind: List\n"} {
		tool, out, _ := clitest.Tool()
		if err := tool.Print(&cli.Output{Format: f}, statusView(tool, all, nodes, nil)); err != nil {
			t.Fatal(err)
		}
		clitest.Golden(t, "status/"+string(f), out.String())
		out.Reset()
		if err := tool.Print(&cli.Output{Format: f}, statusView(tool, nil, nodes, nil)); err != nil || out.String() != none {
			t.Errorf("nothing as %s is %q, %v; want %q", f, out, err, none)
		}
	}
}

func TestWhatStatusShowsWhileItGoesOn(t *testing.T) {
	nodes, events := readStatus(t)
	for name, f := range map[string]cli.Format{"no-terminal": cli.Human, "json": cli.JSON} {
		tool, out, _ := clitest.Tool()
		w := newStatusWatch(tool, f, nil)
		w.Update(w.picture(overview(facts{nodes: nodes, events: events}, nil), clitest.Noon))
		w.Update(w.picture(overview(facts{nodes: nodes, events: events}, nil), clitest.Noon.Add(time.Second)))
		fmt.Fprintln(out, "--- the first event is gone, and the Nodes are as they were")
		w.Update(w.picture(overview(facts{nodes: nodes, events: events[1:]}, nil), clitest.Noon.Add(2*time.Second)))
		fmt.Fprintln(out, "--- there is nothing any more")
		w.Update(w.picture(nil, clitest.Noon.Add(3*time.Second)))
		clitest.Golden(t, "status/watch/"+name, out.String())
	}
	for name, style := range clitest.Styles {
		if !style.Terminal {
			continue
		}
		tool, out, _ := clitest.Tool()
		w := newStatusWatch(tool, cli.Human, nil)
		w.Draw(style, w.picture(overview(facts{nodes: nodes, events: events}, nil), clitest.Noon))
		w.Trouble = "connection refused"
		w.Draw(style, w.picture(overview(facts{nodes: nodes, events: events[1:]}, nil), clitest.Noon.Add(2*time.Second)))
		clitest.Golden(t, "status/watch/"+name, out.String())
	}
}

func TestStatusSaysThatNothingIsGoingOnAsFarAsThatIsKnown(t *testing.T) {
	for name, unread := range map[string]bool{"none": false, "none-unread": true} {
		tool, out, _ := clitest.Tool()
		nodes := []*corev1.Node{}
		if unread {
			nodes = nil
		}
		if err := tool.Print(&cli.Output{}, statusView(tool, nil, nodes, nil)); err != nil {
			t.Fatal(err)
		}
		w := newStatusWatch(tool, cli.Human, nil)
		w.nodesUnread = unread
		w.Draw(clitest.Styles["80-columns"], w.picture(nil, clitest.Noon))
		clitest.Golden(t, "status/"+name, out.String())
	}
}

// forbids is a server that has no events, and lets nobody list Nodes.
type forbids struct{ client.Reader }

func (forbids) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if _, nodes := list.(*corev1.NodeList); nodes {
		return apierrors.NewForbidden(corev1.Resource("nodes"), "", nil)
	}
	return nil
}

func TestNodesThatMayNotBeReadAreNotTakenForNone(t *testing.T) {
	tool, _, _ := clitest.Tool()
	f, err := listStatus(t.Context(), tool, forbids{})
	if f.nodes != nil || err != nil {
		t.Errorf("where Nodes may not be listed, they are %v, %v; want nil", f.nodes, err)
	}
	if none := cli.Pointers([]corev1.Node{}); none == nil {
		t.Error("where there are none, they are taken for unread")
	}
}

// The event of a drain is gone: its hold names who has the node, why, since when, and until when.
func TestStatusNamesTheHoldersOfADrainedNode(t *testing.T) {
	since := func(hours int) metav1.ObjectMeta {
		return metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(clitest.Noon.Add(time.Duration(-hours) * time.Hour))}
	}
	held := slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-1", EventName: "drain-worker-1", User: "ada", Purpose: "disk", Until: new(metav1.NewTime(clitest.Noon.Add(2 * time.Hour)))}
	ci := slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-1", EventName: "drain-worker-1", User: "ci", Actor: "blue"}
	late := slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-4", EventName: "drain-worker-4", User: "eve", Purpose: "fan", Until: new(metav1.NewTime(clitest.Noon.Add(-time.Minute)))}
	elsewhere := slipwayv1alpha1.NodeHoldSpec{NodeName: "worker-2", EventName: "maintenance-worker-2", User: "bob", Maintenance: "night", Purpose: "kernel"}
	failed := elsewhere
	failed.NodeName = "worker-5"
	nodes := map[string]*corev1.Node{}
	for i := range 6 {
		name := fmt.Sprintf("worker-%d", i+1)
		nodes[name] = &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{Unschedulable: true}}
	}
	nodes["worker-4"].Status.Conditions = []corev1.NodeCondition{{
		Type: maintenance.NodeMaintenancePlanned, Status: corev1.ConditionTrue, Message: "night (not before 2026-05-01T22:00:00Z)",
	}}
	nodes["worker-5"].Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: `[{"uid":"a","state":"Failed","at":"2026-05-01T11:00:00Z"}]`}
	nodes["worker-6"].Annotations = map[string]string{shutdown.Annotation: "{}"}
	all := overview(facts{nodes: slices.Collect(maps.Values(nodes)), holds: []*slipwayv1alpha1.NodeHold{
		{ObjectMeta: since(1), Spec: ci},
		{ObjectMeta: since(3), Spec: held},
		{ObjectMeta: since(2), Spec: elsewhere},
		{ObjectMeta: since(2), Spec: late},
		{ObjectMeta: since(2), Spec: failed},
	}}, nil)
	clitest.Golden(t, "status/held", statusTable(all, ui.Style{}, clitest.Noon, true, false))
}

func TestStatusAndExplainAgreeOnANodeWithoutEvents(t *testing.T) {
	conditions := map[string][]corev1.NodeCondition{
		"none":     nil,
		"complete": {{Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionTrue, Reason: "drain-complete"}, {Type: corev1.NodeDrained, Status: corev1.ConditionTrue}},
		"down":     {{Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionTrue, Reason: "ShuttingDown"}},
		"expired":  {{Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionFalse, Reason: "SlaExpired"}},
	}
	for name, all := range conditions {
		for _, unschedulable := range []bool{true, false} {
			node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: unschedulable}, Status: corev1.NodeStatus{Conditions: all}}
			node.Annotations = map[string]string{"slipway.dev/cordons": `{"owners":[{"event":"drain-worker-1","uid":"e1"}]}`}
			want := explain.Explain(explain.Facts{Node: node}, clitest.Noon).State
			if got := ofNode(node).State; got != want {
				t.Errorf("conditions %s, unschedulable %v: status says %q, and explain %q", name, unschedulable, got, want)
			}
		}
	}
}

func TestANameThatIsUsedAgainIsToldOnce(t *testing.T) {
	node := &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}
	node.Annotations = map[string]string{"slipway.dev/cordons": `{"owners":[{"event":"drain-worker-1","uid":"e1"},{"event":"drain-worker-1","uid":"e2"},{"event":"update","uid":"e3"}]}`}
	if diff := cmp.Diff([]string{"drain-worker-1", "update"}, ofNode(node).CordonedFor); diff != "" {
		t.Errorf("cordoned for (-want +got):\n%s", diff)
	}
}
