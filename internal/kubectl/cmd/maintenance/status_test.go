// SPDX-License-Identifier: Apache-2.0

package maintenance

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	slipwayv1alpha1 "github.com/slipway-k8s/slipway/api/slipway/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli"
	"github.com/slipway-k8s/slipway/internal/kubectl/cli/clitest"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/maintenance"
)

func readMaintenances(t *testing.T) map[string]*slipwayv1alpha1.NodeMaintenance {
	t.Helper()
	all := map[string]*slipwayv1alpha1.NodeMaintenance{}
	for _, m := range clitest.Read[slipwayv1alpha1.NodeMaintenance](t, "maintenances.yaml") {
		all[m.Name] = m
	}
	return all
}

func rowsOf(t *testing.T) []maintenanceRow {
	t.Helper()
	return maintenanceRows(clitest.Read[slipwayv1alpha1.NodeMaintenance](t, "maintenances.yaml"))
}

// webNodes are worker-01 and so on, in three zones. The first four have returned from m1.
func webNodes(t *testing.T, n int) []*corev1.Node {
	t.Helper()
	var all []*corev1.Node
	for i := range n {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:   fmt.Sprintf("worker-%02d", i+1),
			Labels: map[string]string{"pool": "web", "topology.kubernetes.io/zone": string("abc"[i*3/n])},
		}}
		if i < 4 {
			record(t, node, maintenance.Record{UID: "m1", State: maintenance.RecordReturned, At: clitest.Noon})
		}
		all = append(all, node)
	}
	return append(all, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "another"}})
}

func record(t *testing.T, node *corev1.Node, records ...maintenance.Record) {
	t.Helper()
	text, err := json.Marshal(records)
	if err != nil {
		t.Fatal(err)
	}
	node.Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: string(text)}
}

// eventFor is the drain of a node for maintenances.
func eventFor(t *testing.T, node string, claim lifecyclev1alpha1.ClaimStatus, uids ...types.UID) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := &lifecyclev1alpha1.LifecycleEvent{ObjectMeta: metav1.ObjectMeta{Name: maintenance.DrainName(node), UID: types.UID("e-" + node)}}
	event.Spec.BindingNode, event.Spec.TransitionName = node, "drain.slm.k8s.io"
	event.Status.ClaimStatus = claim
	event.Labels = map[string]string{slipwayv1alpha1.MaintenanceEventLabel: maintenance.LabelDrain}
	var refs []maintenance.Ref
	for _, uid := range uids {
		refs = append(refs, maintenance.Ref{UID: uid, Name: "of-" + string(uid)})
	}
	text, err := json.Marshal(refs)
	if err != nil {
		t.Fatal(err)
	}
	event.Annotations = map[string]string{slipwayv1alpha1.MaintenancesAnnotation: string(text)}
	return event
}

func TestWhatMaintenanceStatusLists(t *testing.T) {
	for name, why := range map[string]bool{"maintenance/list": false, "maintenance/list-wide": true} {
		clitest.GoldenStyles(t, name, func(out io.Writer, style ui.Style) error {
			_, err := io.WriteString(out, maintenanceTable(rowsOf(t), style, clitest.Noon, why))
			return err
		})
	}
	clitest.GoldenEncoded(t, "maintenance/list", cli.List(rowsOf(t)))
	for f, want := range map[cli.Format]string{cli.Human: noMaintenances, cli.YAML: "apiVersion: v1\nitems: []\nkind: List\n", cli.Name: ""} {
		tool, out, _ := clitest.Tool()
		if err := tool.Print(&cli.Output{Format: f}, statusView(tool, maintenanceRows(nil), false)); err != nil || out.String() != want {
			t.Errorf("-o %s of none: %q, %v", f, out, err)
		}
	}
}

func TestWhatMaintenanceStatusShowsOfOne(t *testing.T) {
	for name, m := range readMaintenances(t) {
		row := rowOfMaintenance(m)
		row.addNodes(webNodes(t, 30), nil)
		clitest.GoldenStyles(t, "maintenance/one/"+name, func(out io.Writer, style ui.Style) error {
			_, err := io.WriteString(out, maintenanceText(&row, style, clitest.Noon, false))
			return err
		})
	}
	row := rowOfMaintenance(readMaintenances(t)["kernel-6.12"])
	row.addNodes(webNodes(t, 12), nil)
	clitest.GoldenStyles(t, "maintenance/one/wide", func(out io.Writer, style ui.Style) error {
		_, err := io.WriteString(out, maintenanceText(&row, style, clitest.Noon, true))
		return err
	})
	clitest.GoldenEncoded(t, "maintenance/one", row)
	unread := rowOfMaintenance(readMaintenances(t)["kernel-6.12"])
	unread.addNodes(nil, nil)
	clitest.Golden(t, "maintenance/one/unread", maintenanceText(&unread, ui.Style{}, clitest.Noon, true))
}

func TestThePictureOfHundredsOfNodesFitsOnAScreen(t *testing.T) {
	row := rowOfMaintenance(readMaintenances(t)["kernel-6.12"])
	row.addNodes(webNodes(t, 600), nil)
	for name, style := range clitest.Styles {
		lines := row.mapLines(style)
		clitest.Golden(t, "maintenance/map/"+name, strings.Join(lines, "\n")+"\n")
		if style.Width == 80 && len(lines) > 16 {
			t.Errorf("%s: %d lines", name, len(lines))
		}
	}
	for _, line := range row.mapLines(ui.Style{Terminal: true, Width: 80}) {
		if len(line) > 80 {
			t.Errorf("too wide: %q", line)
		}
	}
}

func TestWhereANodeIsThatTheStatusHasNoRoomFor(t *testing.T) {
	m := readMaintenances(t)["kernel-6.12"]
	m.Spec.Retry = 1
	for name, tc := range map[string]struct {
		records []maintenance.Record
		event   *lifecyclev1alpha1.LifecycleEvent
		want    slipwayv1alpha1.MaintenanceNodePhase
	}{
		"nothing is known":            {nil, nil, slipwayv1alpha1.NodeWaiting},
		"it has returned":             {[]maintenance.Record{{UID: "m1", State: maintenance.RecordReturned}}, nil, slipwayv1alpha1.NodeReturned},
		"it has returned for another": {[]maintenance.Record{{UID: "m2", State: maintenance.RecordReturned}}, nil, slipwayv1alpha1.NodeWaiting},
		"it has failed":               {[]maintenance.Record{{UID: "m1", State: maintenance.RecordFailed, Retry: 1}}, nil, slipwayv1alpha1.NodeFailed},
		"it is tried again":           {[]maintenance.Record{{UID: "m1", State: maintenance.RecordFailed}}, nil, slipwayv1alpha1.NodeWaiting},
		"its work is done":            {[]maintenance.Record{{UID: "m1", State: maintenance.RecordDone}}, eventFor(t, "n", lifecyclev1alpha1.Claimed, "m1"), slipwayv1alpha1.NodeReturning},
		"it is held":                  {nil, eventFor(t, "n", lifecyclev1alpha1.Pending, "m1"), slipwayv1alpha1.NodeHeld},
		"it is drained":               {nil, eventFor(t, "n", lifecyclev1alpha1.Claimed, "m2", "m1"), slipwayv1alpha1.NodeDraining},
		"it is drained for another":   {nil, eventFor(t, "n", lifecyclev1alpha1.Claimed, "m2"), slipwayv1alpha1.NodeWaiting},
	} {
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n", Labels: map[string]string{"pool": "web"}}}
		record(t, node, tc.records...)
		var events []*lifecyclev1alpha1.LifecycleEvent
		if tc.event != nil {
			events = append(events, tc.event)
		}
		row := rowOfMaintenance(m)
		row.addNodes([]*corev1.Node{node}, events)
		if got := row.Domains[0].Nodes[0].Phase; got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

// steps are how a maintenance changes while somebody looks.
func steps(t *testing.T) []maintenanceRow {
	t.Helper()
	first := readMaintenances(t)["kernel-6.12"]
	first.Status = slipwayv1alpha1.NodeMaintenanceStatus{}
	second := readMaintenances(t)["kernel-6.12"]
	third := second.DeepCopy()
	third.Status.NodeStatuses = third.Status.NodeStatuses[:4]
	third.Status.NodeStatuses[3].Reason, third.Status.NodeStatuses[3].Message = "", ""
	third.Status.Nodes.Out, third.Status.Nodes.Returned = 3, 6
	var rows []maintenanceRow
	for i, m := range []*slipwayv1alpha1.NodeMaintenance{first, second, second, third} {
		row := rowOfMaintenance(m)
		nodes := webNodes(t, 30)
		if i == 3 {
			record(t, nodes[8], maintenance.Record{UID: "m1", State: maintenance.RecordReturned})
			record(t, nodes[9], maintenance.Record{UID: "m1", State: maintenance.RecordReturned})
		}
		row.addNodes(nodes, nil)
		rows = append(rows, row)
	}
	return rows
}

func TestWhatIsShownOfAMaintenanceWhileItGoesOn(t *testing.T) {
	for name, f := range map[string]cli.Format{"no-terminal": cli.Human, "json": cli.JSON, "name": cli.Name} {
		tool, out, errOut := clitest.Tool()
		w := newWatcher(tool, cli.Cluster{}, f, "kernel-6.12")
		for i, row := range steps(t) {
			w.Update(w.picture([]maintenanceRow{row}, clitest.Noon.Add(time.Duration(i)*time.Second)))
		}
		w.Trouble = "connection refused"
		w.Update(w.picture(nil, clitest.Noon.Add(time.Minute)))
		w.Update(w.picture(nil, clitest.Noon.Add(time.Minute)))
		clitest.Golden(t, "maintenance/watch/"+name, out.String()+"--- stderr\n"+errOut.String())
	}
	for name, style := range clitest.Styles {
		if !style.Terminal {
			continue
		}
		tool, out, _ := clitest.Tool()
		w := newWatcher(tool, cli.Cluster{}, cli.Human, "kernel-6.12")
		for _, row := range steps(t) {
			w.Draw(style, w.picture([]maintenanceRow{row}, clitest.Noon))
		}
		w.Trouble = "connection refused"
		w.Draw(style, w.picture(nil, clitest.Noon))
		clitest.Golden(t, "maintenance/watch/"+name, out.String())
	}
}

func TestHowAMaintenanceEnds(t *testing.T) {
	var text strings.Builder
	for _, row := range rowsOf(t) {
		goal := goalOf(row.of)
		switch {
		case goal == nil:
			fmt.Fprintf(&text, "%s: nobody waits\n", row.Name)
		case !goal(&row):
			fmt.Fprintf(&text, "%s: goes on\n", row.Name)
		default:
			code, says := endOf(&row, false)
			fmt.Fprintf(&text, "%s: %d %s\n", row.Name, code, says)
		}
	}
	tool, _, errOut := clitest.Tool()
	for _, name := range []string{"kernel-6.12", "aborted"} {
		row := rowOfMaintenance(readMaintenances(t)[name])
		code, says := endOf(&row, true)
		fmt.Fprintf(&text, "%s, as asked: %d %s\n", row.Name, code, says)
		row.NodeStatuses = append(row.NodeStatuses, slipwayv1alpha1.MaintenanceNodeStatus{Name: "w", Phase: slipwayv1alpha1.NodeFailed, Reason: slipwayv1alpha1.ReasonReturnFailed})
		code, says = endOf(&row, true)
		fmt.Fprintf(&text, "%s, as asked: %d %s\n", row.Name, code, says)
		sayFailed(tool, &row)
	}
	clitest.Golden(t, "maintenance/ends", text.String()+errOut.String())
}

func TestANodeThatIsInMotionKeepsAMaintenanceFromEnding(t *testing.T) {
	row := rowOfMaintenance(readMaintenances(t)["stopped"])
	if !row.ended() {
		t.Error("a maintenance that stands still goes on")
	}
	row.NodeStatuses = append(row.NodeStatuses, slipwayv1alpha1.MaintenanceNodeStatus{Name: "batch-5", Phase: slipwayv1alpha1.NodeDraining})
	if row.ended() {
		t.Error("it has ended while a node is drained")
	}
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfAMaintenance(t *testing.T) {
	m := readMaintenances(t)["kernel-6.12"]
	m.Spec.Reason, m.Spec.RequestedBy, m.Status.Message = clitest.Hostile, clitest.Hostile, clitest.Hostile
	m.Spec.Work.PodTemplate, m.Spec.Hooks[0].Name, m.Status.DrainStatus.DrainMessage = clitest.Hostile, clitest.Hostile, clitest.Hostile
	for i := range m.Status.NodeStatuses {
		s := &m.Status.NodeStatuses[i]
		s.Name, s.Message = clitest.Hostile, clitest.Hostile
	}
	row := rowOfMaintenance(m)
	nodes := webNodes(t, 30)
	nodes[0].Labels["topology.kubernetes.io/zone"] = clitest.Hostile
	row.addNodes(nodes, nil)
	for _, style := range []ui.Style{{}, {Terminal: true, Width: 80, Height: 24}} {
		clitest.WantHarmless(t, maintenanceTable([]maintenanceRow{row}, style, clitest.Noon, true))
		clitest.WantHarmless(t, maintenanceText(&row, style, clitest.Noon, true))
	}
	tool, out, errOut := clitest.Tool()
	w := newWatcher(tool, cli.Cluster{}, cli.Human, m.Name)
	w.Trouble = clitest.Hostile
	w.Update(w.picture([]maintenanceRow{row}, clitest.Noon))
	sayFailed(tool, &row)
	clitest.WantHarmless(t, out.String())
	clitest.WantHarmless(t, errOut.String())
	event := eventFor(t, "worker-1", lifecyclev1alpha1.Claimed, "m1")
	event.Annotations[slipwayv1alpha1.MaintenancesAnnotation] = strings.ReplaceAll(event.Annotations[slipwayv1alpha1.MaintenancesAnnotation], "of-m1", `\u001b]0;owned\u0007\r\nnode/worker-9 drained`)
	clitest.WantHarmless(t, cli.OutFor("worker-1", []*lifecyclev1alpha1.LifecycleEvent{event}))
}
