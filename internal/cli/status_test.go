// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"io"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/show"
)

func readStatus(t *testing.T) ([]*corev1.Node, []*lifecyclev1alpha1.LifecycleEvent) {
	t.Helper()
	return read[corev1.Node](t, "status-nodes.yaml"), read[lifecyclev1alpha1.LifecycleEvent](t, "status-events.yaml")
}

func TestWhatStatusShows(t *testing.T) {
	nodes, events := readStatus(t)
	all := overview(nodes, events, nil)
	for name, why := range map[string]bool{"status": false, "status/wide": true} {
		goldenStyles(t, name, func(out io.Writer, style show.Style) error {
			_, err := io.WriteString(out, statusTable(all, style, noon, why))
			return err
		})
	}
	golden(t, "status/named", statusTable(overview(nodes, events, []string{"worker-1", "worker-9"}), show.Style{}, noon, false))
	golden(t, "status/none", statusTable(nil, show.Style{}, noon, false))
}

func TestWhatStatusPrintsForPrograms(t *testing.T) {
	nodes, events := readStatus(t)
	all := overview(nodes, events, nil)
	for f, none := range map[format]string{names: "", jsonText: "[]\n", yamlText: "[]\n"} {
		tool, out, _ := testTool()
		if err := tool.printStatus(f, all); err != nil {
			t.Fatal(err)
		}
		golden(t, "status/"+string(f), out.String())
		out.Reset()
		if err := tool.printStatus(f, nil); err != nil || out.String() != none {
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
