// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"context"
	"io"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// hostile is what anybody may write who can create an event, a pod or a condition: it renames
// the window, clears the screen, writes from right to left, and forges a line.
const hostile = "\x1b]0;owned\x07\x1b[2J\u202etfel\u200b\u009b31m\r\nnode/worker-9 drained"

// wantHarmless wants a text in which hostile ones were written to be what a terminal prints.
func wantHarmless(t *testing.T, text string) {
	t.Helper()
	if !strings.Contains(text, "owned") {
		t.Errorf("nothing of what was written is in\n%q", text)
	}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "node/worker-9") {
			t.Errorf("a line is forged:\n%q", text)
		}
		if i := strings.IndexFunc(strings.TrimSuffix(line, "\n"), func(r rune) bool { return !unicode.IsPrint(r) }); i >= 0 {
			t.Errorf("%q goes to the terminal", line)
		}
	}
}

// hostileDrain has it wherever others may write.
func hostileDrain(t *testing.T, node, status string) *lifecyclev1alpha1.LifecycleEvent {
	t.Helper()
	event := drainOf(t, node)
	event.Spec.Reason, event.Spec.RequestedBy = hostile, hostile
	if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(status, "HOSTILE", strconv.QuoteToASCII(hostile))), &event.Status); err != nil {
		t.Fatal(err)
	}
	return event
}

const (
	hostileProgress = `{claimStatus: Claimed, claimedBy: {kind: NodeAgent, identity: HOSTILE}, driver: {name: HOSTILE, start: s, end: drain-complete},
progress: {total: 3}, blockersTotal: 2, blockers: [{object: HOSTILE, reason: Other, by: HOSTILE, message: HOSTILE}, {object: HOSTILE, reason: UnmanagedPod, message: HOSTILE}]}`
	hostileWait    = `{claimStatus: Pending, conditions: [{type: Claimable, status: "False", reason: HOSTILE, message: HOSTILE}]}`
	hostileFailure = `{claimStatus: Failed, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: Finished, status: "True", reason: HOSTILE, message: HOSTILE}]}`
	hostileSuccess = `{claimStatus: Succeeded, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: PodsLeft, status: "True", message: HOSTILE}]}`
	hostileReturn  = `{claimStatus: Succeeded, conditions: [{type: Schedulable, status: "False", message: HOSTILE}]}`
	hostileCancel  = `{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled, message: HOSTILE}]}`
	hostileExpiry  = `{claimStatus: SlaExpired, driver: {name: d, start: s, end: drain-complete}, conditions: [{type: Finished, status: "True", reason: SlaExpired, message: HOSTILE}]}`
)

// holds is a server that has an event already.
type holds struct {
	client.WithWatch
	event *lifecyclev1alpha1.LifecycleEvent
}

func (h holds) Create(_ context.Context, object client.Object, _ ...client.CreateOption) error {
	return apierrors.NewAlreadyExists(schema.GroupResource{}, object.GetName())
}

func (h holds) Get(_ context.Context, _ client.ObjectKey, object client.Object, _ ...client.GetOption) error {
	if event, ok := object.(*lifecyclev1alpha1.LifecycleEvent); ok {
		h.event.DeepCopyInto(event)
	}
	return nil
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfADrain(t *testing.T) {
	t.Run("of a drain that goes on already", func(t *testing.T) {
		tool, _, errOut := testTool()
		p := &pursuit{tool: tool, wanted: []*lifecyclev1alpha1.LifecycleEvent{drainOf(t, "worker-1")}}
		p.asker = asker{client: holds{event: hostileDrain(t, "worker-1", hostileProgress)}, notes: tool.ErrOut}
		if err := p.askAll(t.Context(), func(*lifecyclev1alpha1.LifecycleEvent) {}); err != nil {
			t.Fatal(err)
		}
		wantHarmless(t, errOut.String())
	})
	t.Run("of one that is in the way", func(t *testing.T) {
		tool, _, errOut := testTool()
		there := hostileDrain(t, "worker-1", hostileProgress)
		there.Spec.SLA = nil
		command := &cobra.Command{SilenceErrors: true, SilenceUsage: true, Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			return conflict(there, drainOf(t, "worker-1"))
		}}
		command.SetArgs([]string{})
		command.SetErr(tool.ErrOut)
		run(t.Context(), command)
		wantHarmless(t, errOut.String())
	})
	for name, status := range map[string]string{
		"progress": hostileProgress, "wait": hostileWait, "failure": hostileFailure, "success": hostileSuccess,
		"return": hostileReturn, "cancel": hostileCancel, "expiry": hostileExpiry,
	} {
		t.Run("while and after it goes on/"+name, func(t *testing.T) {
			tool, out, errOut := testTool()
			event := hostileDrain(t, "worker-1", status)
			p := &pursuit{tool: tool, verb: drained, byTimeout: true, asked: map[string]asked{event.Name: {event: event}}}
			told := progress.New(progress.Asked{Node: "worker-1", Event: event.Name})
			told.Begin(noon)
			told.SawEvent(event, noon)
			told.Lost(hostile, noon)
			(&follow.Terminal{Out: out, Style: func() ui.Style { return ui.Style{Width: 80, Height: 24} }}).Show(told, noon)
			lines := &follow.Lines{Out: out}
			lines.Show(told, noon)
			lines.Show(told, noon.Add(time.Minute))
			_ = p.timedOut(t.Context(), told)
			p.refused = map[string][]lifecyclev1alpha1.Blocker{event.Name: event.Status.Blockers}
			p.sayEnd(told.All()[0])
			wantHarmless(t, out.String()+errOut.String())
		})
		t.Run("of one that is canceled/"+name, func(t *testing.T) {
			tool, out, _ := testTool()
			event := hostileDrain(t, "worker-1", status)
			told := progress.New(progress.Asked{Node: "worker-1", Event: event.Name})
			told.Begin(noon)
			told.SawEvent(event, noon)
			tool.say(canceledText(told.All()[0], nil))
			if strings.Contains(out.String(), "owned") {
				wantHarmless(t, out.String())
			}
		})
	}
}

func TestWhatOthersHaveWrittenDoesNothingToTheTerminalOfStatus(t *testing.T) {
	events := []*lifecyclev1alpha1.LifecycleEvent{
		hostileDrain(t, "worker-1", hostileProgress), hostileDrain(t, "worker-2", hostileWait), hostileDrain(t, "worker-3", hostileCancel),
	}
	node := &corev1.Node{}
	node.Name, node.Spec.Unschedulable = "worker-4", true
	node.Annotations = map[string]string{"slipway.dev/cordons": `{"owners":[{"event":"drain-worker-4"}],"before":{"by":"\u001b[2Jowned"}}`}
	node.Status.Conditions = []corev1.NodeCondition{{
		Type: lifecyclev1alpha1.NodeConditionLifecycleTransition, Status: corev1.ConditionFalse, Reason: hostile, Message: hostile,
	}}
	all := overview([]*corev1.Node{node}, events, nil)
	for name, style := range map[string]ui.Style{"no terminal": {}, "narrow": {Terminal: true, Width: 80, Height: 24}, "wide": {Terminal: true, Width: 500, Height: 24}} {
		t.Run(name, func(t *testing.T) {
			wantHarmless(t, statusTable(all, style, noon, true))
			tool, out, _ := testTool()
			(&statusWriter{tool: tool, format: wide}).draw(all, hostile, style, noon)
			wantHarmless(t, out.String())
		})
	}
	t.Run("a line for each change", func(t *testing.T) {
		tool, out, errOut := testTool()
		(&statusWriter{tool: tool, shown: map[string]nodeStatus{}}).show(all, hostile, noon)
		wantHarmless(t, out.String())
		wantHarmless(t, errOut.String())
	})
	t.Run("columns", func(t *testing.T) {
		var out strings.Builder
		if err := (ui.Style{}).Rows(io.Writer(&out), [][]ui.Cell{{{Text: hostile}, {Text: hostile}}, {{Text: "a"}, {Text: "b"}}}); err != nil {
			t.Fatal(err)
		}
		wantHarmless(t, out.String())
	})
}
