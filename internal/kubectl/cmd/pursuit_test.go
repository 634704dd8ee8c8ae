// SPDX-License-Identifier: Apache-2.0

package cmd

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/follow"
	"github.com/slipway-k8s/slipway/internal/kubectl/progress"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
	"github.com/slipway-k8s/slipway/internal/platform/apigroup"
)

// follows plays a file of events, one after the other and 5 s apart, on a screen, and gives
// what is printed then, as by drain or uncordon.
func follows(t *testing.T, file, verb string, output format, style *ui.Style) string {
	t.Helper()
	tool, out, errOut := testTool()
	p := &pursuit{tool: tool, verb: verb, output: output, refused: map[string][]lifecyclev1alpha1.Blocker{}}
	screen := p.screen()
	if style != nil && style.Terminal {
		screen = &follow.Terminal{Out: out, Steps: true, Style: func() ui.Style { return *style }}
	}
	steps := read[lifecyclev1alpha1.LifecycleEvent](t, file)
	var asked []progress.Asked
	known := map[string]bool{}
	for _, event := range steps {
		if !known[event.Name] {
			asked = append(asked, progress.Asked{Node: event.Spec.BindingNode, Event: event.Name})
		}
		known[event.Name] = true
	}
	told, now := progress.New(asked...), noon
	told.Begin(now)
	screen.Show(told, now)
	for _, event := range steps {
		now = now.Add(5 * time.Second)
		if event.Status.ClaimStatus.Terminal() {
			told.EventGone(event, now)
		} else {
			told.SawEvent(event, now)
		}
		for _, one := range told.All() {
			if pods := one.Refused(); len(pods) > 0 {
				p.refused[one.Name()] = pods
			}
		}
		screen.Show(told, now)
	}
	now = now.Add(time.Minute)
	screen.Show(told, now)
	shown := out.String()
	return shown + "--- then\n" + ended(p, told, out, errOut)
}

// ended is what is printed at last, and the exit code.
func ended(p *pursuit, told *progress.Model, out, errOut *bytes.Buffer) string {
	out.Reset()
	code, _ := codeOf(p.sum(told))
	return fmt.Sprintf("%s--- stderr\n%s--- exit code %d\n", out, errOut, code)
}

func TestWhatADrainAndAReturnShow(t *testing.T) {
	for file, verb := range map[string]string{"drain": "drained", "drain-refused": "drained", "drain-ends": "drained", "uncordon": "uncordoned"} {
		for name, style := range styles {
			t.Run(file+"/"+name, func(t *testing.T) {
				golden(t, file+"/"+name, follows(t, file+".yaml", verb, people, &style))
			})
		}
		t.Run(file+"/json", func(t *testing.T) {
			golden(t, file+"/json", follows(t, file+".yaml", verb, jsonText, nil))
		})
	}
}

func TestWhatCancelShows(t *testing.T) {
	var text string
	for _, tc := range []struct {
		status string
		by     string
		node   *corev1.Node
	}{
		{`{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled}]}`, "ada", &corev1.Node{}},
		{`{claimStatus: Failed, conditions: [{type: Finished, status: "True", reason: Canceled}]}`, "ada", &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}},
		{`{claimStatus: Pending}`, "ada", nil},
		{`{claimStatus: Succeeded}`, "ada", &corev1.Node{Spec: corev1.NodeSpec{Unschedulable: true}}},
	} {
		event := read[lifecyclev1alpha1.LifecycleEvent](t, "uncordon.yaml")[0]
		event.Status = lifecyclev1alpha1.LifecycleEventStatus{}
		if err := yaml.UnmarshalStrict([]byte(tc.status), &event.Status); err != nil {
			t.Fatal(err)
		}
		event.Spec.RequestedBy, event.Spec.Reason = tc.by, "firmware"
		told := progress.New(progress.Asked{Node: "worker-1", Event: event.Name})
		told.Begin(noon)
		told.EventGone(event, noon)
		text += canceledText(told.All()[0], tc.node)
	}
	golden(t, "cancel/outcomes", text)
}

func TestWhatIsAskedForIsPrintedForPrograms(t *testing.T) {
	events := read[lifecyclev1alpha1.LifecycleEvent](t, "uncordon.yaml")
	c := cluster{home: apigroup.In(lifecyclev1alpha1.GroupKubernetes)}
	for _, f := range []format{jsonText, yamlText, names} {
		tool, out, _ := testTool()
		if err := tool.printEvents(c, f, events[:1]); err != nil {
			t.Fatal(err)
		}
		if err := tool.printEvents(c, f, events[:2]); err != nil {
			t.Fatal(err)
		}
		golden(t, "events/"+string(f), out.String())
	}
}

func TestHelpSaysWhatIsNeeded(t *testing.T) {
	for _, command := range []string{"drain", "uncordon", "cancel", "status", "evict", "evictions"} {
		out, errOut, code := execute(t, command, "--help")
		if code != Done || errOut != "" {
			t.Errorf("exit code %d; stderr %q", code, errOut)
		}
		golden(t, "help/"+command, out)
	}
}

func TestCancelSaysWhoseEventItEndsAlsoToWhoDoesNotWait(t *testing.T) {
	tool, out, _ := testTool()
	a := asker{client: deletes{}, notes: tool.ErrOut}
	event := drainOf(t, "worker-1", func(e *lifecyclev1alpha1.LifecycleEvent) { e.Spec.RequestedBy, e.Spec.Reason = "ada", hostile })
	if err := tool.deleteAll(t.Context(), cluster{home: apigroup.In(lifecyclev1alpha1.GroupKubernetes)}, a, []*lifecyclev1alpha1.LifecycleEvent{event}); err != nil {
		t.Fatal(err)
	}
	wantHarmless(t, out.String())
	if !strings.Contains(out.String(), "/drain-worker-1, asked for by ada (") {
		t.Errorf("it prints %q", out)
	}
}
