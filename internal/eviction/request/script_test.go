// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	evictionv1alpha1 "k8s.io/api/lifecycle/v1alpha1"
)

// TestScripts runs the text scripts in testdata/scripts. Each command does something to
// the world, and then Next's steps are performed until there is none. What is asked of the
// server in that is in testdata/writes: test/validation replays it.
//
//	pod [uid=U] [responders=NAME:PRIORITY,...] [group] [annotation=TEXT]   there is a pod p now
//	pod gone | phase=P
//	pod gone unseen                     a cache shows it still
//	request NAME requester=R [withdrawn] [uid=U]
//	request NAME withdraw | renew | delete
//	requests N                          N requesters ask at the same time
//	foreign NAME                        somebody else creates an Eviction
//	responder NAME heartbeat | complete | message=TEXT
//	controller dies after=N | is back   it does N more steps, and no more until it is back
//	clock DURATION                      time passes
//	another                             another controller, to which a cache shows the
//	                                    requests as they were before the last command
//	show                                the Evictions and the requests, as they are
func TestScripts(t *testing.T) {
	datadriven.Walk(t, filepath.Join("testdata", "scripts"), func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "show" {
				return w.show()
			}
			if d.Cmd == "another" {
				defer func() { w.behind = nil }()
				w.behind = w.before
				return w.settle()
			}
			w.before = w.copyOfRequests()
			if err := w.command(t, d); err != nil {
				return "error: " + err.Error() + "\n"
			}
			if d.Cmd == "controller" && w.mortal {
				return ""
			}
			return w.settle()
		})
		w.checkTape(t, filepath.Join("testdata", "writes", strings.TrimSuffix(filepath.Base(path), ".txt")+".jsonl"))
	})
}

func (w *world) command(t *testing.T, d *datadriven.TestData) error {
	first := func() string { return d.CmdArgs[0].Key }
	arg := func(name, otherwise string) string {
		if d.HasArg(name) {
			d.ScanArgs(t, name, &otherwise)
		}
		return otherwise
	}
	switch d.Cmd {
	case "pod":
		switch {
		case d.HasArg("unseen"):
			w.unseen = true
		case d.HasArg("gone"):
			w.pod = nil
		case d.HasArg("phase"):
			w.pod.Status.Phase = corev1.PodPhase(arg("phase", ""))
		default:
			return w.addPod(arg("uid", "u1"), arg("responders", ""), arg("annotation", ""), d.HasArg("group"))
		}
	case "request":
		switch name := first(); {
		case d.HasArg("withdraw"):
			w.intent(name, evictionv1alpha1.EvictionRequestIntentWithdrawn)
		case d.HasArg("renew"):
			w.intent(name, evictionv1alpha1.EvictionRequestIntentEviction)
		case d.HasArg("delete"):
			w.takeBack(name)
		default:
			w.ask(name, arg("requester", "example.com/"+name), arg("uid", "u1"), d.HasArg("withdrawn"))
		}
	case "requests":
		many, err := strconv.Atoi(first())
		for i := range many {
			name := fmt.Sprintf("r%03d", i)
			w.ask(name, "example.com/"+name, "u1", false)
		}
		return err
	case "foreign":
		w.foreign(first())
	case "responder":
		return w.respond(first(), d.HasArg("heartbeat"), d.HasArg("complete"), arg("message", ""))
	case "extra":
		w.extra = nil
		if d.HasArg("none") {
			return nil
		}
		all, err := parse(first())
		w.extra = all
		return err
	case "controller":
		w.mortal, w.left = d.HasArg("dies"), 0
		if w.mortal {
			d.ScanArgs(t, "after", &w.left)
		}
	case "clock":
		passed, err := time.ParseDuration(first())
		if err != nil {
			return err
		}
		w.now = w.now.Add(passed)
	default:
		t.Fatalf("%s: no such command: %s", d.Pos, d.Cmd)
	}
	return nil
}

// settle performs steps until there is none, and prints them.
func (w *world) settle() string {
	var out strings.Builder
	var confirm *Confirm
	for range 200 {
		decision := Next(w.facts(confirm), w.now)
		if decision.Step == nil {
			if !decision.Wake.IsZero() {
				fmt.Fprintf(&out, "until %s\n", decision.Wake.Sub(epoch))
			}
			if out.Len() == 0 {
				return "nothing\n"
			}
			return out.String()
		}
		confirm = asks(decision.Step)
		if confirm == nil { // to die after a question is to die before it
			if w.mortal && w.left == 0 {
				return out.String() + "dead\n"
			}
			w.left--
		}
		fmt.Fprintln(&out, describe(decision.Step))
		if err := w.perform(decision.Step); err != nil {
			return out.String() + "refused: " + err.Error() + "\n"
		}
	}
	return out.String() + "does not settle\n"
}

func describe(step Step) string {
	switch s := step.(type) {
	case Confirm:
		return strings.TrimSpace("ask the server for the pod " + strings.Join(s.Requests, " "))
	case Create:
		return "create " + s.Eviction.Name + " for " + roles(s.Eviction.Labels)
	case Adopt:
		return "adopt " + s.Eviction.Name + " for " + roles(s.Labels) + ", owners " + names(s.Owners)
	case WriteEviction:
		return "write " + s.Eviction.Name + ": " + evictionText(&s.Status)
	case WriteRequest:
		return "tell " + s.Request.Name + ": " + conditionsText(s.Status.Conditions)
	case Delete:
		return "delete " + s.Eviction.Name
	default:
		panic(fmt.Sprintf("%T", step))
	}
}
