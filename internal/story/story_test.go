// SPDX-License-Identifier: Apache-2.0

package story

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
)

// TestScripts runs the text scripts in testdata. Each command takes an object, given
// as YAML, into the story, and prints what the log has got by it.
//
//	event | node | pod [gone]    an object is as in the YAML, or is gone
//	lost WHY                     the API server does not answer
//	begin                        what was seen so far is how it was before
//	clock DURATION               time passes
//	frame [width=N]              prints how it is now
//	outcome                      prints how it ended
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		p := player{story: New("drain-worker-1"), now: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
		datadriven.RunTest(t, path, p.play)
	})
}

type player struct {
	story *Story
	now   time.Time
	told  int
}

func (p *player) play(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "frame":
		width := 100
		d.MaybeScanArgs(t, "width", &width)
		return p.story.Frame(p.now, width)
	case "outcome":
		return p.story.Outcome().String()
	case "clock":
		passed, err := time.ParseDuration(d.CmdArgs[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		p.now = p.now.Add(passed)
	case "begin":
		p.story.Begin(p.now)
	case "lost":
		p.story.Lost(d.CmdArgs[0].Key, p.now)
	default:
		p.take(t, d)
	}
	var out strings.Builder
	for _, entry := range p.story.Log()[p.told:] {
		mark := " "
		if entry.Step {
			mark = "*"
		}
		fmt.Fprintln(&out, mark+entry.Line())
	}
	p.told = len(p.story.Log())
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
			p.story.EventGone(event, p.now)
		} else {
			p.story.SawEvent(event, p.now)
		}
	case "pod":
		pod := &corev1.Pod{}
		read(pod)
		if gone {
			p.story.PodGone(pod, p.now)
		} else {
			p.story.SawPod(pod, p.now)
		}
	case "node":
		node := &corev1.Node{}
		read(node)
		p.story.SawNode(node, p.now)
	default:
		t.Fatalf("there is no command %q", d.Cmd)
	}
}
