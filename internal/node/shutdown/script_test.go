// SPDX-License-Identifier: Apache-2.0

package shutdown

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	lifecyclev1alpha1 "github.com/slipway-k8s/slipway/api/lifecycle/v1alpha1"
	cordons "github.com/slipway-k8s/slipway/internal/node/cordon"
)

// TestScripts runs the text scripts in testdata. Each command does something to the world and
// then performs the steps of both sides until there is none.
//
//	begin                             nothing
//	shutdown | call-off               logind begins a shutdown, or calls it off
//	boot                              the machine goes down, however, and boots; its kubelet says so
//	ready                             the Node is Ready again
//	host killed|back                  slipway-host; who keeps its lock lives on
//	controller away|back              nobody leads among the controllers
//	node gone                         somebody deletes the Node
//	claim                             the agent claims the event
//	end Succeeded|Failed|SlaExpired   it ends, and the agent deletes it
//	delete                            a user deletes it
//	maintain PARAMETERS [reached]     the drain of a maintenance holds the node
//	maintain PARAMETERS foreign       an event of a third-party driver, which says that it has reached its targets
//	reached                           that drain has got to its end
//	clock DURATION                    time passes
//	delay DURATION                    logind lets itself be delayed for that, from now on
//	skew DURATION                     the machine's clock is ahead of the others by that
//	stopping                          logind waits no longer: systemd stops the machine
//	uncordon                          somebody has the node take pods again
//	says ANNOTATION VALUE             somebody writes it on the Node
//	cordons EVENT UID                 the Node is cordoned for that event
//	asks NAME TRANSITION              somebody creates an event
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := newWorld()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			run(t, w, d)
			return settle(w)
		})
	})
}

// settle performs steps until there is none, and prints them.
func settle(w *world) string {
	var out strings.Builder
	for range 50 {
		if host := w.hostFacts(); host != nil {
			if step := Hold(*host, w.machineNow()).Step; step != nil {
				fmt.Fprintln(&out, w.applyHost(step))
				continue
			}
		}
		step := w.next()
		if step == nil {
			if out.Len() == 0 {
				return "nothing\n"
			}
			return out.String()
		}
		fmt.Fprintln(&out, w.apply(step))
	}
	return out.String() + "does not settle\n"
}

// next is the controller's next step; none, while there is no controller.
func (w *world) next() Step {
	if w.away {
		return nil
	}
	return Next(w.facts(), w.now)
}

func run(t *testing.T, w *world, d *datadriven.TestData) {
	t.Helper()
	first := ""
	if len(d.CmdArgs) > 0 {
		first = d.CmdArgs[0].Key
	}
	switch d.Cmd {
	case "begin":
	case "shutdown":
		w.shutdown()
	case "call-off":
		w.callOff()
	case "boot":
		w.boot()
	case "ready":
		w.setReady(true)
	case "host":
		w.hostRuns, w.begun = first == "back", time.Time{}
	case "controller":
		w.away = first == "away"
	case "node":
		w.node = nil
	case "claim":
		w.claim()
	case "end":
		w.end(lifecyclev1alpha1.ClaimStatus(first))
	case "delete":
		w.deleteEvent(w.event())
	case "maintain":
		transition := lifecyclev1alpha1.DrainTransition
		if first == "foreign" {
			transition = "firmware.example.com"
		}
		w.maintain(transition, d.Input, first != "")
	case "reached":
		w.reached()
	case "stopping":
		w.stopping = true
	case "clock":
		w.now = w.now.Add(durationOf(t, first))
	case "delay":
		w.delay = durationOf(t, first)
	case "skew":
		w.skew = durationOf(t, first)
	default:
		others(t, w, d, first)
	}
}

func durationOf(t *testing.T, text string) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// others is what somebody does who is none of ours.
func others(t *testing.T, w *world, d *datadriven.TestData, first string) {
	t.Helper()
	switch d.Cmd {
	case "says":
		w.annotate(first, d.Input)
	case "cordons":
		w.cordoned = append(w.cordoned, cordons.Owner{Event: first, UID: types.UID(d.CmdArgs[1].Key)})
	case "uncordon":
		w.cordoned = nil
	case "asks":
		e := &lifecyclev1alpha1.LifecycleEvent{}
		e.Name, e.Spec.TransitionName = first, d.CmdArgs[1].Key
		w.add(e)
	default:
		t.Fatalf("%s: unknown command %q", d.Pos, d.Cmd)
	}
}

func TestWhatANodeSaysThatIsNotOursSaysNothing(t *testing.T) {
	for _, text := range []string{"", "{", "[]", "{}", `{"bootID":7}`, `{"bootID":"b"}`, `{"since":"2026-01-02T03:00:00Z"}`} {
		node := &corev1.Node{}
		node.Annotations = map[string]string{Annotation: text, DrainAnnotation: text}
		if a, d := AnnouncedOn(node), DrainedOn(node); a != nil || d != nil {
			t.Errorf("%q: %v, %v", text, a, d)
		}
	}
}

// TestTheTimeOfADrainIsThatOfThisBoot: what was announced before the machine has booted limits no drain.
func TestTheTimeOfADrainIsThatOfThisBoot(t *testing.T) {
	w := newWorld()
	if since, length := TimeOn(w.node); !since.IsZero() || length != 0 {
		t.Errorf("without a shutdown: %s from %s", length, since)
	}
	w.locked = true
	w.shutdown()
	w.applyHost(Hold(*w.hostFacts(), w.now).Step)
	if since, length := TimeOn(w.node); !since.Equal(AnnouncedOn(w.node).Since) || length != w.delay {
		t.Errorf("in a shutdown: %s from %s, want %s", length, since, w.delay)
	}
	w.boot()
	if since, length := TimeOn(w.node); !since.IsZero() || length != 0 {
		t.Errorf("after the boot: %s from %s", length, since)
	}
}

// TestALockNeedsNoAPIServer: where a shutdown was called off, the lock comes first; but a logind that
// refuses it does not keep the Node from being told.
func TestALockNeedsNoAPIServer(t *testing.T) {
	w := newWorld()
	w.locked = true
	w.shutdown()
	w.applyHost(Hold(*w.hostFacts(), w.now).Step)
	f := *w.hostFacts()
	f.Preparing, f.Begun, f.Locked = false, time.Time{}, false
	if next := Hold(f, w.now); next.Step != (TakeLock{}) {
		t.Errorf("the next step is %T", next.Step)
	}
	f.Refused = true
	if next, is := Hold(f, w.now).Step.(Withdraw); !is {
		t.Errorf("the next step is %T when logind has refused a lock", next)
	}
	delete(f.Node.Annotations, Annotation)
	if next := Hold(f, w.now); next.Step != (TakeLock{}) {
		t.Errorf("the next step is %T when the Node has been told", next.Step)
	}
}

// TestAHostAsksAgainWhetherTheShutdownGoesOn: nobody tells it of a "shutdown -c".
func TestAHostAsksAgainWhetherTheShutdownGoesOn(t *testing.T) {
	w := newWorld()
	w.locked = true
	w.shutdown()
	w.applyHost(Hold(*w.hostFacts(), w.now).Step)
	for name, tc := range map[string]struct {
		begun    time.Time
		stopping bool
		want     time.Time
	}{
		"it has seen it":                        {begun: w.now, want: w.now.Add(askAgain)},
		"it has not":                            {want: w.now.Add(askAgain)},
		"it has not, and the machine goes down": {stopping: true},
	} {
		t.Run(name, func(t *testing.T) {
			f := *w.hostFacts()
			f.Begun, f.Stopping = tc.begun, tc.stopping
			if next := Hold(f, w.now); next.Step != nil || !next.Wake.Equal(tc.want) {
				t.Errorf("the next step is %v; it asks again at %s, want %s", next.Step, next.Wake, tc.want)
			}
		})
	}
}
