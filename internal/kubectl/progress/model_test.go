// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	"github.com/slipway-k8s/slipway/internal/kubectl/ui"
)

// TestScripts runs the text scripts in testdata. Each command takes an object, given
// as YAML, into the stories, and prints what the log has got by it.
//
//	follow NODE... [expected]    begins anew, with the drains of these nodes
//	pods                         they are watched as well
//	event | node | pod [gone]    an object is as in the YAML, or is gone
//	read-node [gone]             the Node is as in the YAML, after all that was seen, or cannot be read
//	missed                       prints the nodes that are to be read
//	expect                       who asks has created the event in the YAML, or found it
//	lost WHY                     the API server does not answer
//	begin                        what was seen so far is how it was before
//	clock DURATION               time passes
//	frame [width=N] [height=N]   prints how it is now
//	still                        prints what is told when nothing happens
//	changes                      prints what programs are told since the last time
//	outcome                      prints how it ended
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := player{stories: New(Asked{Node: "worker-1", Event: "drain-worker-1"}), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		datadriven.RunTest(t, path, p.play)
	})
}

type player struct {
	stories *Model
	now     time.Time
	told    int
	changes int
}

func (p *player) play(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "frame":
		style := ui.Style{Terminal: true, Width: 100, Height: 24}
		d.MaybeScanArgs(t, "width", &style.Width)
		d.MaybeScanArgs(t, "height", &style.Height)
		return p.stories.Frame(p.now, style)
	case "outcome":
		return p.outcomes()
	case "missed":
		return p.missed()
	case "still":
		return lines(p.stories.Still(p.now))
	case "changes":
		return p.newChanges(t)
	case "follow":
		p.follow(d)
		return ""
	case "clock":
		passed, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		p.now = p.now.Add(passed)
	case "begin":
		p.stories.Begin(p.now)
	case "pods":
		p.stories.WatchPods()
	case "lost":
		p.stories.Lost(d.CmdArgs[0].Key, p.now)
	default:
		p.take(t, d)
	}
	entries := p.stories.Log()[p.told:]
	p.told = len(p.stories.Log())
	return lines(entries)
}

func (p *player) follow(d *datadriven.TestData) {
	var asked []Asked
	for _, arg := range d.CmdArgs {
		if arg.Key != "expected" {
			asked = append(asked, Asked{Node: arg.Key, Event: "drain-" + arg.Key, Expected: d.HasArg("expected")})
		}
	}
	p.stories, p.told, p.changes = New(asked...), 0, 0
}

func lines(entries []Entry) string {
	var out strings.Builder
	for _, entry := range entries {
		mark := " "
		if entry.Step {
			mark = "*"
		}
		fmt.Fprintln(&out, mark+entry.Line())
	}
	return out.String()
}

func (p *player) outcomes() string {
	var out strings.Builder
	for _, one := range p.stories.All() {
		fmt.Fprintf(&out, "%s: %s, over: %v, refused: %d\n", one.Node(), one.Outcome(), one.Over(p.now), len(one.Refused()))
	}
	return out.String()
}

func (p *player) missed() string {
	var out strings.Builder
	for _, one := range p.stories.All() {
		if one.MissedEnd() {
			fmt.Fprintln(&out, one.Node())
		}
	}
	return out.String()
}

func (p *player) newChanges(t *testing.T) string {
	var out strings.Builder
	for _, c := range p.stories.Changes()[p.changes:] {
		text, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&out, string(text))
	}
	p.changes = len(p.stories.Changes())
	return out.String()
}

func (p *player) take(t *testing.T, d *datadriven.TestData) {
	read := func(into any) {
		if err := yaml.UnmarshalStrict([]byte(d.Input), into); err != nil {
			t.Fatal(err)
		}
	}
	switch gone := d.HasArg("gone"); d.Cmd {
	case "event":
		event := &lifecyclev1alpha1.LifecycleEvent{}
		read(event)
		if gone {
			p.stories.Gone(event, p.now)
		} else {
			p.stories.Saw(event, p.now)
		}
	case "expect":
		event := &lifecyclev1alpha1.LifecycleEvent{}
		read(event)
		p.stories.Expect(event, p.now)
	case "pod":
		pod := &corev1.Pod{}
		read(pod)
		if gone {
			p.stories.Gone(pod, p.now)
		} else {
			p.stories.Saw(pod, p.now)
		}
	case "node":
		node := &corev1.Node{}
		read(node)
		p.stories.Saw(node, p.now)
	case "read-node":
		node := &corev1.Node{}
		read(node)
		name := node.Name
		if gone {
			node = nil
		}
		p.stories.ReadNode(name, node, p.now)
	default:
		t.Fatalf("there is no command %q", d.Cmd)
	}
}
