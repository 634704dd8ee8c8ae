// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/explain"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

func readStatus(t *testing.T) ([]*corev1.Node, []*lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	return read[corev1.Node](t, "status-nodes.yaml"), read[lifecyclev1alpha1.LifecycleEvent](t, "status-events.yaml")
}

func TestWhatStatusShows(t *testing.T) {
	nodes, events := readStatus(t)
	all := overview(nodes, events, nil)
	for name, why := range map[string]bool{"status": false, "status/wide": true} {
		goldenStyles(t, name, func(out io.Writer, style ui.Style) error {
			_, err := io.WriteString(out, statusTable(all, style, noon, why))
			return err
		})
	}
	golden(t, "status/named", statusTable(overview(nodes, events, []string{"worker-1", "worker-9"}), ui.Style{}, noon, false))
}

func TestWhatStatusPrintsForPrograms(t *testing.T) {
	nodes, events := readStatus(t)
	all := overview(nodes, events, nil)
	for f, none := range map[format]string{names: "", jsonText: "[]\n", yamlText: "[]\n"} {
		tool, out, _ := testTool()
		if err := tool.printStatus(f, all, false); err != nil {
			t.Fatal(err)
		}
		golden(t, "status/"+string(f), out.String())
		out.Reset()
		if err := tool.printStatus(f, nil, false); err != nil || out.String() != none {
			t.Errorf("nothing as %s is %q, %v; want %q", f, out, err, none)
		}
	}
}

func TestWhatStatusShowsWhileItGoesOn(t *testing.T) {
	nodes, events := readStatus(t)
	for name, f := range map[string]format{"no-terminal": people, "json": jsonText} {
		tool, out, _ := testTool()
		w := &statusWriter{tool: tool, format: f, shown: map[string]nodeStatus{}}
		w.show(overview(nodes, events, nil), "", noon)
		w.show(overview(nodes, events, nil), "", noon.Add(time.Second))
		fmt.Fprintln(out, "--- the first event is gone, and the Nodes are as they were")
		w.show(overview(nodes, events[1:], nil), "", noon.Add(2*time.Second))
		fmt.Fprintln(out, "--- there is nothing any more")
		w.show(nil, "", noon.Add(3*time.Second))
		golden(t, "status/watch/"+name, out.String())
	}
	for name, style := range styles {
		if !style.Terminal {
			continue
		}
		tool, out, _ := testTool()
		w := &statusWriter{tool: tool}
		w.draw(overview(nodes, events, nil), "", style, noon)
		w.draw(overview(nodes, events[1:], nil), "connection refused", style, noon.Add(2*time.Second))
		golden(t, "status/watch/"+name, out.String())
	}
}

func TestStatusSaysThatNothingIsGoingOnAsFarAsThatIsKnown(t *testing.T) {
	for name, unread := range map[string]bool{"none": false, "none-unread": true} {
		tool, out, _ := testTool()
		if err := tool.printStatus(people, nil, unread); err != nil {
			t.Fatal(err)
		}
		(&statusWriter{tool: tool, nodesUnread: unread}).draw(nil, "", styles["80-columns"], noon)
		golden(t, "status/"+name, out.String())
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
	tool, _, _ := testTool()
	nodes, _, err := tool.readStatus(t.Context(), forbids{})
	if nodes != nil || err != nil {
		t.Errorf("where Nodes may not be listed, they are %v, %v; want nil", nodes, err)
	}
	if none := pointers([]corev1.Node{}); none == nil {
		t.Error("where there are none, they are taken for unread")
	}
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
			want := explain.Explain(explain.Facts{Node: node}, noon).State
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
